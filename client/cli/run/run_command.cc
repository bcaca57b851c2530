#include "client/cli/run/run_command.h"

#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "client/cli/base/command.h"
#include "client/cli/base/file_util.h"
#include "client/cli/base/json.h"
#include "client/cli/base/signals.h"
#include "client/cli/base/startup.h"
#include "client/cli/base/timeline.h"
#include "client/cli/config/the_config.h"
#include "client/cli/history/history_store.h"
#include "client/cli/history/job_recorder.h"
#include "client/cli/options/agent_options.h"
#include "client/cli/options/run_options.h"
#include "client/cli/run/detachment.h"
#include "client/cli/run/launcher_contact.h"
#include "client/cli/run/mpir.h"
#include "client/cli/run/output_file.h"
#include "client/cli/run/run_client.h"
#include "client/cli/run/run_launch.h"
#include "client/cli/run/run_place.h"
#include "client/cli/run/run_record.h"
#include "client/cli/run/run_report.h"
#include "common/job_request.h"
#include "common/posix/unique_fd.h"
#include "common/preload/preload_list.h"
#include "common/string_util.h"
#include "protos/control.pb.h"

namespace canopy::cli {
namespace {

namespace v1c = control::v1;

// The program name for which the command is `canopy run`; all other names are
// names of mpirun.
constexpr char kOwnName[] = "canopy";

constexpr char kHelpHead[] =
    "usage: canopy run [options] program [args] [: [options] program ...]\n"
    "\n"
    "Runs a program as one job of many processes, on the overlay that is up\n"
    "(see 'canopy up') or else with agents that are started for the job and\n"
    "end with it. Options may be written with one dash or two; the words\n"
    "after the program are its arguments. The exit code is that of the first\n"
    "process that failed, or 128 + signal.\n"
    "\n"
    "options:\n";

// Scripts for mpirun set two variables to allow root.
bool EnvironmentAllowsRoot() {
  const auto is_one = [](const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr && std::string_view(value) == "1";
  };
  return (is_one("OMPI_ALLOW_RUN_AS_ROOT") &&
          is_one("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")) ||
         (is_one("PRTE_ALLOW_RUN_AS_ROOT") &&
          is_one("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM"));
}

// Under the name `canopy` the command runs for root without further options,
// because containers often have no other user. Under mpirun's names it behaves
// like mpirun.
bool AllowsRoot(const RunOptions& options, const std::string& program) {
  return options.allow_run_as_root || program == kOwnName ||
         EnvironmentAllowsRoot();
}

// Prints a hint that Canopy's library may be the reason why a program could not
// be loaded. The exit code 127 alone is not enough, because a script in which a
// command is missing has it too.
void HintAtInjection(const RunOptions& options, const RunOutcome& outcome,
                     const RunReport& report) {
  if (outcome.end.exit_code() == 0 || options.job.inject == Inject::kNever ||
      !outcome.end.has_first_failed() || report.has_own_library() ||
      !report.saw_loader_error()) {
    return;
  }
  PrintError(
      "the dynamic loader could not load a program; try 'canopy run --inject "
      "never', which keeps Canopy's libpmix out ('canopy doctor PROGRAM' shows "
      "which library a program gets)");
}

// Returns the exit code of this command. `trouble` is an error of the job's
// output, or empty.
int CommandCode(const RunOutcome& outcome, const std::string& trouble) {
  const int code = ExitCodeOf(outcome);
  if (trouble.empty()) return code;
  return code == 0 || outcome.no_reader ? kExitFailure : code;
}

// Prints the document with the exit code of this command, which differs from
// the job's own if, for example, its program was not found. Returns the exit
// code, even if the document cannot be written.
int PrintResult(const RunOptions& options, int json_fd, v1c::JobEnd end,
                int code, const RunReport& report) {
  end.set_exit_code(code);
  const Json document = report.Document(end);
  if (json_fd < 0) {
    if (options.standard_output_is_free()) {
      return PrintText(DocumentText(document), code);
    }
    (void)WriteAll(STDERR_FILENO, LineText(document));
    return code;
  }
  if (WriteAll(json_fd, DocumentText(document))) return code;
  PrintError("cannot write " + options.json_file + ": " + std::strerror(errno));
  return code == 0 ? kExitFailure : code;
}

// The end of the job as it is reported to the user.
struct Conclusion {
  int exit_code = 0;
  std::string reason;  // reason of a failure; empty: none
};

Conclusion Conclude(const RunOptions& options, int json_fd,
                    const RunOutcome& outcome, const RunReport& report) {
  const std::string trouble = report.trouble();
  int code = CommandCode(outcome, trouble);
  if (options.json) {
    code = PrintResult(options, json_fd, outcome.end, code, report);
  } else if (!outcome.end.text().empty() && !outcome.no_reader &&
             !options.quiet && !report.has_said(outcome.end.text())) {
    PrintError(outcome.end.text());
    HintAtInjection(options, outcome, report);
  }
  if (trouble.empty()) return {code, outcome.end.text()};
  PrintError(trouble);
  return {code, trouble};
}

// The things outside of the launcher, other than agents, to which it reacts.
struct Surroundings {
  SignalSource signals;
  // Contact with the tool that has started the launcher.
  LauncherContact contact;
  int end_signal = 0;  // the end signal that was received

  bool TakeEndSignal() {
    const std::optional<int> signal = signals.Take();
    if (signal && IsEndSignal(*signal)) end_signal = *signal;
    return end_signal != 0;
  }
};

int Canceled(Surroundings* around) {
  (void)around->TakeEndSignal();
  PrintError("interrupted before the job was started");
  const int signal = around->end_signal;
  return kExitSignal + (signal == 0 ? SIGINT : signal);
}

// Prints warnings about options for agents. `up` is true if the agents are
// already running.
void WarnOfAgentOptions(const AgentOptions& options, bool up) {
  if (!up) {
    if (options.security == "plaintext") PrintError(kPlaintextWarning);
    return;
  }
  const std::vector<std::string> given = GivenStartOptions(options);
  if (given.empty()) return;
  PrintError(Join(given, ", ") + (given.size() == 1 ? " is" : " are") +
             " for agents that are started; an overlay is up and is used as "
             "it is");
}

// The result of parsing the command line.
struct Request {
  RunOptions options;
  // The words from which `options` were parsed.
  std::span<const std::string> args;
  bool allow_root = false;
  JobRequest job;
  std::vector<preload::Item> files;
  // Null if the job's output goes to the standard streams or to files of its
  // ranks.
  std::shared_ptr<OutputFile> output = nullptr;
  Detachment detachment = {};  // for a launcher in the background
  UniqueFd json_file = {};     // for the document of -o json; empty: none
};

Result<RunOptions> ParseOptions(std::span<const std::string> args,
                                bool as_mpirun) {
  return ParseRunOptions(
      args, [](const char* name) { return std::getenv(name); }, as_mpirun);
}

JobRequest JobOf(const RunOptions& options) {
  JobRequest job = MakeRequest(options);
  // The processes stop at their exec, so that a debugger that has started this
  // program can attach to them first.
  if (IsTraced()) job.debug.on_exec.emplace();
  return job;
}

v1c::Launch LaunchOf(const Request& request) {
  v1c::Launch launch = MakeLaunch(request.job, request.allow_root);
  launch.set_do_not_launch(request.options.do_not_launch);
  launch.set_preloads(!request.files.empty());
  launch.set_report_topologies(request.options.display_topology ||
                               request.options.report_bindings);
  return launch;
}

// Applies the options that the tool has ordered, as if they were typed before
// the user's options.
Status Obey(std::vector<std::string> orders, Request* request) {
  if (orders.empty()) return Status();
  orders.insert(orders.end(), request->args.begin(), request->args.end());
  Result<RunOptions> options = ParseOptions(orders, request->options.as_mpirun);
  if (!options.ok()) return options.status();
  request->job = JobOf(*options);
  request->options = *std::move(options);
  return Status();
}

// Returns the recorder of the job's history entry. Returns null for jobs
// without a history: jobs that are not started, and debugger daemons.
std::shared_ptr<JobRecorder> MakeRecorder(const RunOptions& options,
                                          const std::string& context) {
  if (options.do_not_launch || options.job.daemons) return nullptr;
  return std::make_shared<JobRecorder>(
      HistoryStore(), EntryOf(options, context),
      [quiet = options.quiet](const std::string& text) {
        if (!quiet) PrintError("warning: " + text);
      });
}

// The objects that receive the names of the job.
struct Naming {
  std::string rank_files;                 // pattern; empty: none
  std::shared_ptr<OutputFile> output;     // may be null
  std::shared_ptr<JobRecorder> recorder;  // may be null
  UniqueFd command;  // a pipe that the original command reads; may be empty

  void OnKnown(const std::string& nspace, const v1c::JobMapped* mapped) {
    const Status named = output ? output->SetJob(nspace) : Status();
    if (!named.ok()) PrintError(named.message());
    Record(nspace, mapped);
    if (!command) return;
    (void)WriteAll(command.get(), nspace + "\n");
    command.Reset();
  }

 private:
  void Record(const std::string& nspace, const v1c::JobMapped* mapped) const {
    if (recorder == nullptr) return;
    if (!rank_files.empty()) {
      recorder->set_output(OutputPath(rank_files, nspace));
    } else if (output) {
      recorder->set_output(output->path());
    }
    if (mapped == nullptr) return recorder->Queued(nspace);
    recorder->Mapped(nspace, PlaceOf(*mapped));
  }
};

// Returns the functions that record the spawned jobs and their ends. A job
// without a history has no recorder, and its spawned jobs are not recorded.
RunReport::SpawnedWatch Watch(const std::shared_ptr<JobRecorder>& recorder) {
  if (recorder == nullptr) return {};
  return {[recorder](const v1c::JobMapped& mapped) {
            recorder->Spawned(SpawnedJobOf(mapped));
          },
          [recorder](const v1c::SpawnedEnd& ended) {
            recorder->SpawnedEnded(ended.nspace(), ended.end().exit_code(),
                                   ended.end().text());
          }};
}

// The Naming is shared, because a thread that RunJob leaves behind may still
// report names.
void TellNames(Request* request, std::shared_ptr<JobRecorder> recorder,
               RunReport* report) {
  const RunOptions& options = request->options;
  const auto naming = std::make_shared<Naming>();
  if (options.has_rank_files()) naming->rank_files = options.output_file;
  naming->output = request->output;
  report->set_spawned_watch(Watch(recorder));
  naming->recorder = std::move(recorder);
  naming->command = std::move(request->detachment.name);
  report->set_on_known(
      [naming](const std::string& nspace, const v1c::JobMapped* mapped) {
        naming->OnKnown(nspace, mapped);
      });
}

// Reports an error of a launcher that has not launched anything yet.
int FailToBegin(const Status& status, Surroundings* around) {
  return status.code() == kErrJobCanceled ? Canceled(around) : Fail(status);
}

struct Opened {
  std::unique_ptr<RunConnection> connection;
  std::vector<std::string> orders;  // options that the tool has ordered
};

Result<Opened> Open(const RunOptions& options, RunPlace* place,
                    Surroundings* around, const Timeline& timeline) {
  LauncherContact& contact = around->contact;
  if (Status s = contact.Watch(); !s.ok()) return s;
  if (Status s = place->Begin(options, timeline); !s.ok()) return s;
  auto connection = place->Connect(options, around->signals, timeline);
  if (!connection.ok()) return connection.status();
  if (Status s = contact.Tell(place->runtime_dirs()); !s.ok()) return s;
  auto orders = contact.AwaitOrders(
      options.job.apps.empty(),
      {around->signals.fd(), [around] { return around->TakeEndSignal(); }});
  if (!orders.ok()) return orders.status();
  return Opened{*std::move(connection), *std::move(orders)};
}

int Launch(Request request, RunPlace* place, Timeline* timeline) {
  Surroundings around;
  Result<Opened> opened = Open(request.options, place, &around, *timeline);
  if (!opened.ok()) return FailToBegin(opened.status(), &around);
  if (Status s = Obey(opened->orders, &request); !s.ok()) return Fail(s);
  if (Status s = place->LeaveOutMissing(&request.job); !s.ok()) return Fail(s);
  const RunOptions& options = request.options;
  RunClientOptions client;
  const bool reads = options.reads_input() && !options.input_is_pushed();
  client.stdin_fd = reads ? STDIN_FILENO : -1;
  client.pty = options.pty;
  client.signals = &around.signals;
  client.files = request.files;
  client.kill_grace = std::chrono::seconds(request.job.kill_grace_seconds);
  client.link.dial = place->Redial();
  client.link.dial_leader = place->DialLeader();
  client.add_hosts = [place](OverlayRoot* root, const NodeStartOptions& hosts) {
    return place->AddHosts(root, hosts);
  };
  if (!options.quiet) client.link.say = &PrintError;
  const auto recorder = MakeRecorder(options, place->context());
  const auto report = std::make_shared<RunReport>(
      options, timeline,
      request.output && !options.has_rank_files() ? request.output->fd() : -1);
  TellNames(&request, recorder, report.get());
  // The table is shared, because a thread that RunJob leaves behind may still
  // report.
  const auto table = std::make_shared<MpirTable>(place->runtime_dirs());
  report->set_on_running(
      [table](const std::string& nspace) { table->OnRunning(nspace); });
  report->set_on_tick([table] { return table->OnTick(); });
  Result<RunOutcome> outcome =
      RunJob(std::move(opened->connection), LaunchOf(request), client, report);
  if (outcome.ok()) {
    report->Finish();
    timeline->Note("job ended");
    around.contact.AwaitTool();
  }
  place->End();
  timeline->Note("done");
  const Conclusion end =
      outcome.ok()
          ? Conclude(options, request.json_file.get(), *outcome, *report)
          : Conclusion{Fail(outcome.status()), outcome.status().message()};
  if (recorder) recorder->Ended(end.exit_code, end.reason);
  return end.exit_code;
}

// Serves a tool that has started this launcher and spawns its jobs itself.
int Serve(const RunOptions& options, RunPlace* place, Timeline* timeline) {
  Surroundings around;
  Result<Opened> opened = Open(options, place, &around, *timeline);
  if (!opened.ok()) return FailToBegin(opened.status(), &around);
  if (!opened->orders.empty()) {
    return Fail(
        Status(kErrBadParam, "there are launch directives, but no program"));
  }
  timeline->Note("ready for the tool");
  pollfd entry = {around.signals.fd(), POLLIN, 0};
  while (poll(&entry, 1, -1) <= 0 || !around.TakeEndSignal()) {
  }
  place->End();
  return around.contact.ToolHasEnded() ? 0 : kExitSignal + around.end_signal;
}

int FailToDetach() {
  return FailUsage("run", Status(kErrBadParam,
                                 "--detach needs agents that stay: see "
                                 "'canopy up'"));
}

int LaunchDetached(Request request, RunPlace* place, Timeline* timeline) {
  Result<Detachment> both = Detach(*request.output);
  if (!both.ok()) return Fail(both.status());
  const bool json = request.options.json;
  // The document of a launcher in the background can only go to a file.
  if (!request.json_file) request.options.json = false;
  if (!both->is_launcher) return AwaitName(*request.output, *both, json);
  request.detachment = *std::move(both);
  return Launch(std::move(request), place, timeline);
}

// Creates the directory of the output, so that no job is started whose output
// would be lost.
Status PrepareOutputDirectory(const RunOptions& options) {
  const std::string& directory = options.output_directory;
  if (directory.empty()) return Status();
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (!error && access(directory.c_str(), W_OK | X_OK) != 0) {
    error.assign(errno, std::generic_category());
  }
  if (!error) return Status();
  return Status(kErrNoPermissions, "cannot write output to the directory " +
                                       directory + ": " + error.message());
}

// Makes the file of the document, before the job is started.
Result<UniqueFd> MakeJsonFile(const std::string& path) {
  if (path.empty()) return UniqueFd();
  UniqueFd fd(
      open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (fd) return fd;
  return Status(kErrNoPermissions,
                "cannot write " + path + ": " + std::strerror(errno));
}

// Checks the files of the output, and creates the file that all ranks share. A
// detached launcher always has such a file, for its own messages.
Status PrepareOutput(const RunOptions& options,
                     std::shared_ptr<OutputFile>* output) {
  if (options.do_not_launch) return Status();
  if (Status s = PrepareOutputDirectory(options); !s.ok()) return s;
  const bool shared = !options.output_file.empty() && !options.has_rank_files();
  if (options.has_rank_files()) {
    if (Status s = OutputFile::Check(options.output_file); !s.ok()) return s;
  }
  if (!shared && !options.detach) return Status();
  Result<OutputFile> file =
      OutputFile::Make(shared ? options.output_file : kDefaultOutputFile);
  if (!file.ok()) return file.status();
  *output = std::make_shared<OutputFile>(*std::move(file));
  return Status();
}

std::optional<int> Run(const RunOptions& options,
                       std::span<const std::string> args,
                       const std::string& program, RemoteAgents* remote) {
  Timeline timeline(options.verbose);
  const bool allow_root = AllowsRoot(options, program);
  if (geteuid() == 0 && !allow_root) {
    PrintError(program +
               " runs programs as root only with "
               "--allow-run-as-root; 'canopy run' needs no option for it");
    return kExitFailure;
  }
  if (Status s = CheckTexts(options); !s.ok()) return Fail(s);
  if (Status s = CheckTerminal(options); !s.ok()) {
    return FailUsage("run", s);
  }
  RunPlace place(remote);
  if (Status s = place.Find(options); !s.ok()) return Fail(s);
  JobRequest job = JobOf(options);
  // Debugger daemons need no working directory.
  if (Status s = CheckWorkingDirectory(job); !s.ok() && !options.job.daemons) {
    return Fail(s);
  }
  Result<std::vector<preload::Item>> files = FilesToPreload(job);
  if (!files.ok()) return Fail(files.status());
  if (place.NeedsRemoteAgents()) return std::nullopt;
  for (const std::string& warning : options.warnings) PrintError(warning);
  WarnOfAgentOptions(options.agents, place.persistent());
  if (options.job.apps.empty()) return Serve(options, &place, &timeline);
  if (options.detach && !place.stays()) return FailToDetach();
  Request request{options, args, allow_root, std::move(job), *std::move(files)};
  if (Status s = PrepareOutput(options, &request.output); !s.ok()) {
    return Fail(s);
  }
  Result<UniqueFd> json_file = MakeJsonFile(options.json_file);
  if (!json_file.ok()) return Fail(json_file.status());
  request.json_file = *std::move(json_file);
  if (options.detach) {
    return LaunchDetached(std::move(request), &place, &timeline);
  }
  const auto output = request.output;
  const int code = Launch(std::move(request), &place, &timeline);
  if (output) output->Discard();
  return code;
}

}  // namespace

int RunOnAgents(const RunOptions& options, const std::string& program,
                RemoteAgents* remote) {
  return Run(options, {}, program, remote).value_or(kExitFailure);
}

std::optional<int> RunCommand(const CommandLine& line, RemoteAgents* remote) {
  Result<RunOptions> options =
      ParseOptions(line.args, line.program != kOwnName);
  if (!options.ok()) return FailUsage("run", options.status());
  if (options->version) {
    return PrintVersion();
  }
  if (options->help) {
    return PrintText(kHelpHead + RunOptionHelp());
  }
  if (!TheConfig().ok()) {
    PrintError(TheConfig().status().message());
    return kExitUsage;
  }
  if (options->context.empty()) {
    options->context = TheConfig()->Text("context");
  }
  return Run(*options, line.args, line.program, remote);
}

}  // namespace canopy::cli
