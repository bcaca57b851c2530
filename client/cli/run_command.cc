#include "client/cli/run_command.h"

#include <pwd.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "client/cli/command.h"
#include "client/cli/files.h"
#include "client/cli/job_environment.h"
#include "client/cli/json_text.h"
#include "client/cli/run_client.h"
#include "client/cli/run_options.h"
#include "client/cli/run_place.h"
#include "client/cli/run_report.h"
#include "client/cli/signals.h"
#include "client/cli/timeline.h"
#include "common/text.h"
#include "common/version.h"
#include "protos/control.pb.h"

namespace canopy::cli {
namespace {

namespace v1c = control::v1;

constexpr char kHelpHead[] =
    "usage: canopy run [options] program [args] [: [options] program ...]\n"
    "\n"
    "Runs a program as one job of many processes: on the overlay that is up\n"
    "('canopy up'), else with agents of its own that end with it. Options may\n"
    "be typed with one dash or two; what follows the program is the "
    "program's.\n"
    "The exit code is that of the first process that failed, or 128 + signal.\n"
    "\n"
    "options:\n";

// A shell's words for it; scripts set them both to mean it.
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

// Under our own name root is served as everyone: in containers there is often
// nobody else. Under mpirun's names its users' habits are kept.
bool AllowsRoot(const RunOptions& options, const std::string& program) {
  return options.allow_run_as_root || program == "canopy" ||
         EnvironmentAllowsRoot();
}

void FillHosts(const std::vector<Host>& hosts,
               google::protobuf::RepeatedPtrField<v1c::HostSlots>* out) {
  for (const Host& host : hosts) {
    v1c::HostSlots* const entry = out->Add();
    entry->set_name(host.name.substr(host.name.find('@') + 1));
    entry->set_slots(host.slots);
    entry->set_slots_given(host.slots_given);
  }
}

std::string Absolute(const std::string& directory, const std::string& cwd) {
  if (directory.empty() || directory[0] == '/') return directory;
  return (std::filesystem::path(cwd) / directory).lexically_normal();
}

std::string CurrentDirectory() {
  std::error_code error;
  const auto path = std::filesystem::current_path(error);
  return error ? std::string() : path.string();
}

void FillApp(const AppOptions& app, const std::string& cwd, bool only,
             v1c::Launch* launch) {
  v1c::App* const out = launch->add_apps();
  for (const std::string& arg : app.argv) out->add_argv(arg);
  out->set_cwd(Absolute(app.cwd, cwd));
  out->set_num_procs(app.num_procs);
  FillHosts(app.hosts, only ? launch->mutable_hosts() : out->mutable_hosts());
  if (only) return;
  for (const std::string& entry : app.env) out->add_env(entry);
}

v1c::Launch MakeLaunch(const RunOptions& options, bool allow_root) {
  v1c::Launch launch;
  const std::string cwd = CurrentDirectory();
  launch.set_cwd(cwd);
  const bool only = options.apps.size() == 1;
  std::vector<std::string> env = InheritedEnvironment(environ);
  SetVariables(options.env, &env);
  if (only) SetVariables(options.apps[0].env, &env);
  for (std::string& entry : env) launch.add_env(std::move(entry));
  for (const AppOptions& app : options.apps) FillApp(app, cwd, only, &launch);
  launch.set_map_by(options.map_by);
  launch.set_rank_by(options.rank_by);
  launch.set_bind_to(options.bind_to);
  launch.set_oversubscribe(options.oversubscribe);
  launch.set_no_local(options.no_local);
  launch.set_timeout_seconds(options.timeout_seconds);
  launch.set_merge_stderr(options.merge_stderr);
  launch.set_stdin_target(options.stdin_target);
  launch.set_kill_grace_seconds(options.kill_grace_seconds);
  launch.set_allow_run_as_root(allow_root);
  launch.set_do_not_launch(options.do_not_launch);
  launch.set_report_bindings(options.report_bindings);
  launch.set_inject(options.inject);
  return launch;
}

// What is not handed to the processes as it is must be text.
Status CheckTexts(const RunOptions& options) {
  std::vector<std::string> texts = {options.map_by, options.rank_by,
                                    options.bind_to, options.stdin_target};
  for (const AppOptions& app : options.apps) {
    for (const Host& host : app.hosts) texts.push_back(host.name);
  }
  for (const std::string& text : texts) {
    if (IsUtf8(text)) continue;
    return Status(kErrBadParam, "'" + text + "' is not UTF-8");
  }
  return Status();
}

int ExitCodeOf(const RunOutcome& outcome) {
  if (outcome.no_reader) return kExitSignal + SIGPIPE;
  if (outcome.end_signal != 0) return kExitSignal + outcome.end_signal;
  switch (outcome.end.status()) {
    case kErrBadParam:
      return kExitUsage;
    case kErrJobExeNotFound:
      return kExitNotFound;
    case kErrJobAppNotExecutable:
      return kExitNotExecutable;
    default:
      return outcome.end.exit_code();
  }
}

int Conclude(const RunOptions& options, const RunOutcome& outcome,
             const std::string& trouble) {
  if (options.json) {
    (void)WriteAll(STDERR_FILENO, JsonText(outcome.end));
  } else if (!outcome.end.text().empty() && !outcome.no_reader &&
             !options.quiet) {
    PrintError(outcome.end.text());
  }
  const int code = ExitCodeOf(outcome);
  if (trouble.empty()) return code;
  PrintError(trouble);
  return code == 0 || outcome.no_reader ? kExitFailure : code;
}

int Canceled(SignalSource* signals) {
  const std::optional<int> signal = signals->Take();
  PrintError("interrupted before the job was started");
  return kExitSignal + signal.value_or(SIGINT);
}

std::optional<int> Run(const RunOptions& options, const std::string& program,
                       FarAgents* far) {
  Timeline timeline(options.verbose);
  const bool allow_root = AllowsRoot(options, program);
  if (geteuid() == 0 && !allow_root) {
    PrintError(program +
               " does not run programs as root unless told "
               "--allow-run-as-root; 'canopy run' does");
    return kExitFailure;
  }
  if (Status s = CheckTexts(options); !s.ok()) return Fail(s);
  RunPlace place(far);
  if (Status s = place.Find(options); !s.ok()) return Fail(s);
  const v1c::Launch launch = MakeLaunch(options, allow_root);
  if (place.NeedsFarAgents()) return std::nullopt;
  for (const std::string& warning : options.warnings) PrintError(warning);
  SignalSource signals;
  if (Status s = place.Begin(options, timeline); !s.ok()) return Fail(s);
  if (place.persistent() &&
      (options.radix != 0 || !options.launch_agent.empty())) {
    PrintError(
        "--radix and --launch-agent are for agents that are started; an "
        "overlay is up and is used as it is");
  }
  auto connection = place.Connect(options, signals, timeline);
  if (!connection.ok()) {
    return connection.code() == kErrJobCanceled ? Canceled(&signals)
                                                : Fail(connection.status());
  }
  RunClientOptions client;
  client.stdin_fd = options.stdin_target == "none" ? -1 : STDIN_FILENO;
  client.signals = &signals;
  client.link.dial = place.Redial();
  if (!options.quiet) client.link.say = &PrintError;
  const auto report = std::make_shared<RunReport>(options, &timeline);
  Result<RunOutcome> outcome =
      RunJob(*std::move(connection), launch, client, report);
  if (!outcome.ok()) {
    place.End();
    return Fail(outcome.status());
  }
  report->Finish();
  timeline.Note("job ended");
  place.End();
  timeline.Note("done");
  return Conclude(options, *outcome, report->trouble());
}

}  // namespace

std::optional<int> RunCommand(const CommandLine& line, FarAgents* far) {
  Result<RunOptions> options = ParseRunOptions(
      line.args, [](const char* name) { return std::getenv(name); });
  if (!options.ok()) return FailUsage("run", options.status());
  if (options->version) {
    (void)WriteAll(STDOUT_FILENO, std::string("canopy ") + kVersion + "\n");
    return 0;
  }
  if (options->help) {
    return WriteAll(STDOUT_FILENO, kHelpHead + RunOptionHelp()) ? 0 : 1;
  }
  return Run(*options, line.program, far);
}

}  // namespace canopy::cli
