#include "client/cli/options/run_options.h"

#include <strings.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "client/cli/base/file_util.h"
#include "client/cli/base/table.h"
#include "client/cli/options/option_parser.h"
#include "client/cli/options/rankfile.h"
#include "client/cli/options/run_option_table.h"
#include "common/string_util.h"

namespace canopy::cli {
namespace {

constexpr size_t kMaxAppFile = 16u << 20;

class RunParser {
 public:
  RunParser(const Environment& environment, bool as_mpirun)
      : started_by_tool_(environment("PMIX_LAUNCHER_RNDZ_FILE") != nullptr),
        table_(RunOptionTable({&out_, &app_, &app_file_, &map_suffix_,
                               &environment, as_mpirun, &rankfile_})) {
    out_.as_mpirun = as_mpirun;
  }

  Result<RunOptions> Parse(std::span<const std::string> args);

 private:
  // Parses one program, up to the next ':'. `is_all` is true if there is no
  // ':'.
  Status ParsePart(std::span<const std::string> args, bool is_all = false);
  Status LoadAppFile(const std::string& path);
  Status Check() const;
  Status CheckPty() const;
  void SetStops();
  // Keeps the first hosts that the applications name, up to the requested
  // number of nodes.
  Status LimitHosts();
  Status UseRankfile();

  RunOptions out_;
  JobApp app_;  // the program of the part that is being parsed
  std::string app_file_;
  std::string map_suffix_;
  std::string rankfile_;  // empty: none
  bool in_app_file_ = false;
  const bool started_by_tool_;
  const OptionTable table_;  // options that set the members above
};

Result<RunOptions> RunParser::Parse(std::span<const std::string> args) {
  size_t start = 0;
  for (size_t i = 0; i <= args.size(); ++i) {
    if (i < args.size() && args[i] != ":") continue;
    const bool is_all = start == 0 && i == args.size();
    Status status = ParsePart(args.subspan(start, i - start), is_all);
    if (!status.ok()) return status;
    if (out_.help || out_.version) return std::move(out_);
    start = i + 1;
  }
  if (Status status = Check(); !status.ok()) return status;
  if (Status status = LimitHosts(); !status.ok()) return status;
  out_.job.places.map_by += map_suffix_;
  if (Status status = UseRankfile(); !status.ok()) return status;
  SetStops();
  return std::move(out_);
}

Status RunParser::ParsePart(std::span<const std::string> args, bool is_all) {
  app_ = JobApp();
  Result<std::vector<std::string>> rest =
      ApplyOptions(table_, args, RestRule::kFromFirstWord);
  if (!rest.ok()) return rest.status();
  if (out_.help || out_.version) return Status();
  app_.argv = *std::move(rest);
  if (!app_file_.empty()) {
    if (in_app_file_) {
      return Status(kErrBadParam, "an app file cannot name another one");
    }
    if (!app_.argv.empty()) {
      return Status(kErrBadParam, "--app names the programs; '" + app_.argv[0] +
                                      "' cannot come too");
    }
    return LoadAppFile(std::exchange(app_file_, {}));
  }
  if (app_.argv.empty() && is_all && started_by_tool_) return Status();
  if (app_.argv.empty() || app_.argv[0].empty()) {
    return Status(kErrJobNoExeSpecified,
                  "no program to run; name it after the options, as in "
                  "'canopy run -n 4 ./app'");
  }
  out_.job.apps.push_back(std::move(app_));
  return Status();
}

Status RunParser::LoadAppFile(const std::string& path) {
  Result<std::string> content = ReadFile(path, kMaxAppFile);
  if (!content.ok()) {
    return Status(content.code(),
                  "cannot read app file " + content.status().message());
  }
  in_app_file_ = true;
  const size_t before = out_.job.apps.size();
  const JobApp shared = app_;
  size_t number = 0;
  for (const std::string& line : Split(*content, '\n')) {
    ++number;
    const std::string where = path + ":" + std::to_string(number) + ": ";
    const std::string_view text = Trim(line);
    if (text.empty() || text.starts_with('#')) continue;
    const auto words = SplitCommand(text);
    if (!words) return Status(kErrBadParam, where + "a quote is not closed");
    Status status = ParsePart(*words);
    if (!status.ok()) return Status(status.code(), where + status.message());
    if (out_.help || out_.version) return Status();
    JobApp& app = out_.job.apps.back();
    app.env.insert(app.env.begin(), shared.env.begin(), shared.env.end());
    if (app.cwd.empty()) app.cwd = shared.cwd;
    if (app.pset.empty()) app.pset = shared.pset;
    if (app.num_procs == 0) app.num_procs = shared.num_procs;
    if (app.hosts.empty()) app.hosts = shared.hosts;
  }
  in_app_file_ = false;
  if (out_.job.apps.size() > before) return Status();
  return Status(kErrBadParam, "app file " + path + " names no program");
}

Status RunParser::Check() const {
  if (out_.emulate != 0 && (!out_.context.empty() || out_.nodes != 0)) {
    return Status(kErrBadParam,
                  "--emulate makes its own nodes and cannot be combined with "
                  "--context or --nodes");
  }
  if (!out_.agents.launch_agent.empty() &&
      out_.agents.launch_agent.find("{host}") == std::string::npos) {
    return Status(kErrBadParam,
                  "--launch-agent needs a command that contains {host}, as in "
                  "'ssh {host}'");
  }
  if (Status status = CheckPty(); !status.ok()) return status;
  return CheckAgentOptions(out_.agents);
}

// Output of the job's terminal goes to the user's terminal only, and unchanged.
Status RunParser::CheckPty() const {
  if (!out_.pty) return Status();
  const char* const other = out_.json                   ? "-o json"
                            : out_.detach               ? "--detach"
                            : out_.stdin_given          ? "--stdin"
                            : out_.xml_output           ? "--xml"
                            : out_.tag_output           ? "--tag-output"
                            : out_.timestamp_output     ? "--timestamp-output"
                            : !out_.output_file.empty() ? "--output file="
                            : !out_.output_directory.empty()
                                ? "--output-filename"
                                : nullptr;
  if (other == nullptr) return Status();
  return Status(kErrBadParam, std::string(other) +
                                  " cannot be combined with --pty, which "
                                  "connects rank 0 with this terminal");
}

void RunParser::SetStops() {
  JobDebug& debug = out_.job.debug;
  if (out_.stop_on_exec) debug.on_exec = out_.stop_ranks;
  if (out_.stop_in_init) debug.in_init = out_.stop_ranks;
  if (out_.stop_in_app) debug.in_app = out_.stop_ranks;
}

Status RunParser::LimitHosts() {
  std::vector<std::string> kept;
  bool named = false;
  for (JobApp& app : out_.job.apps) {
    if (out_.nodes == 0 || app.hosts.empty()) continue;
    named = true;
    std::erase_if(app.hosts, [&](const Host& host) {
      if (std::ranges::count(kept, host.name) > 0) return false;
      if (kept.size() == out_.nodes) return true;
      kept.push_back(host.name);
      return false;
    });
    if (app.hosts.empty()) {
      return Status(kErrBadParam, "--nodes " + std::to_string(out_.nodes) +
                                      " leaves none of the hosts of '" +
                                      app.argv[0] + "'");
    }
  }
  if (!named) return Status();
  if (kept.size() < out_.nodes) {
    return Status(kErrBadParam, "--nodes " + std::to_string(out_.nodes) +
                                    ": the command line names only " +
                                    cli::Count(kept.size(), "host"));
  }
  out_.nodes = 0;
  return Status();
}

// PRRTE's spelling of --rankfile is a policy of --map-by.
Status RunParser::UseRankfile() {
  constexpr std::string_view kPolicy = "rankfile:file=";
  std::string& map_by = out_.job.places.map_by;
  if (strncasecmp(map_by.c_str(), kPolicy.data(), kPolicy.size()) == 0) {
    rankfile_ = map_by.substr(kPolicy.size());
    map_by.clear();
  }
  if (rankfile_.empty()) return Status();
  const Result<Rankfile> file = LoadRankfile(rankfile_);
  if (!file.ok()) return file.status();
  return ApplyRankfile(*file, rankfile_, &out_.job);
}

}  // namespace

Result<RunOptions> ParseRunOptions(std::span<const std::string> args,
                                   const Environment& environment,
                                   bool as_mpirun) {
  return RunParser(environment, as_mpirun).Parse(args);
}

std::string RunOptionHelp() {
  RunOptions run;
  JobApp app;
  std::string text;
  const Environment none;
  return OptionHelp(
      RunOptionTable({&run, &app, &text, &text, &none, false, &text}));
}

}  // namespace canopy::cli
