#include "client/cli/run_options.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "client/cli/file_util.h"
#include "client/cli/option_parser.h"
#include "client/cli/run_option_table.h"
#include "client/cli/string_util.h"

namespace canopy::cli {
namespace {

constexpr uint32_t kMaxProcs = 1u << 20;
constexpr uint32_t kMaxNodes = 1024;
constexpr uint32_t kMaxRadix = 1u << 16;
constexpr uint32_t kMaxSeconds = 365u * 24 * 3600;
constexpr size_t kMaxAppFile = 16u << 20;

Status Bad(const ParsedOption& option, const std::string& wanted) {
  return Status(kErrBadParam, "option '" + option.typed + "' wants " + wanted +
                                  ", not '" + option.values[0] + "'");
}

Status SetNumber(const ParsedOption& option, uint32_t min, uint32_t max,
                 uint32_t* out) {
  const auto n = ParseNumber(option.values[0], max);
  if (!n || *n < min) {
    return Bad(option, "a number from " + std::to_string(min) + " to " +
                           std::to_string(max));
  }
  *out = *n;
  return Status();
}

Status SetOneOf(const ParsedOption& option,
                std::span<const std::string_view> words, std::string* out) {
  const std::string& value = option.values[0];
  if (std::ranges::count(words, value) > 0) {
    *out = value;
    return Status();
  }
  std::string list;
  for (const std::string_view word : words) {
    if (!list.empty()) list += word == words.back() ? " or " : ", ";
    list += word;
  }
  return Bad(option, list);
}

void Append(std::vector<Host>* to, std::vector<Host> from) {
  to->insert(to->end(), std::make_move_iterator(from.begin()),
             std::make_move_iterator(from.end()));
}

class RunParser {
 public:
  explicit RunParser(const Environment& environment)
      : environment_(environment) {}

  Result<RunOptions> Parse(std::span<const std::string> args);

 private:
  Status ParsePart(std::span<const std::string> args);
  Status Apply(const ParsedOption& option);
  Status ApplyPlacement(const ParsedOption& option);
  Status ApplyShortcut(const ParsedOption& option);
  Status ApplyEnvironment(const ParsedOption& option);
  Status ApplyOutput(const ParsedOption& option);
  Status ApplyWhere(const ParsedOption& option);
  Status Export(const ParsedOption& option);
  Status SetStdin(const ParsedOption& option);
  Status Display(const std::string& words);
  Status Output(const ParsedOption& option);
  Status OutputDirectory(const std::string& text);
  Status LoadAppFile(const std::string& path);
  void PutBefore(const char* name, const std::string& value);
  void SetVariable(std::vector<std::string>* env, const std::string& name,
                   const std::string& value) {
    env->push_back(name + "=" + value);
  }
  Status Check();

  const Environment& environment_;
  RunOptions out_;
  AppOptions app_;  // of the part that is parsed now
  std::string app_file_;
  std::string map_suffix_;
  bool in_app_file_ = false;
};

Result<RunOptions> RunParser::Parse(std::span<const std::string> args) {
  size_t start = 0;
  for (size_t i = 0; i <= args.size(); ++i) {
    if (i < args.size() && args[i] != ":") continue;
    Status status = ParsePart(args.subspan(start, i - start));
    if (!status.ok()) return status;
    if (out_.help || out_.version) return std::move(out_);
    start = i + 1;
  }
  if (Status status = Check(); !status.ok()) return status;
  out_.map_by += map_suffix_;
  return std::move(out_);
}

Status RunParser::ParsePart(std::span<const std::string> args) {
  Result<ParsedLine> line =
      ParseLine(RunOptionTable(), args, RestRule::kFromFirstWord);
  if (!line.ok()) return line.status();
  app_ = AppOptions();
  for (const ParsedOption& option : line->options) {
    Status status = Apply(option);
    if (!status.ok()) return status;
    if (out_.help || out_.version) return Status();
  }
  app_.argv = std::move(line->rest);
  if (!app_file_.empty()) {
    if (!app_.argv.empty()) {
      return Status(kErrBadParam, "--app names the programs; '" + app_.argv[0] +
                                      "' can not come too");
    }
    return LoadAppFile(std::exchange(app_file_, {}));
  }
  if (app_.argv.empty() || app_.argv[0].empty()) {
    return Status(kErrJobNoExeSpecified,
                  "no program to run; say it after the options, as in "
                  "'canopy run -n 4 ./app'");
  }
  out_.apps.push_back(std::move(app_));
  return Status();
}

Status RunParser::Apply(const ParsedOption& option) {
  switch (option.id) {
    case kRunCount:
      if (option.values[0] == "0") {
        return Status(kErrBadParam, "option '" + option.typed +
                                        " 0': a job has at least one process");
      }
      return SetNumber(option, 1, kMaxProcs, &app_.num_procs);
    case kRunApp:
      if (in_app_file_) {
        return Status(kErrBadParam, "an app file can not name another one");
      }
      app_file_ = option.values[0];
      return Status();
    case kRunWdir:
      app_.cwd = option.values[0];
      return Status();
    case kRunTimeout:
      return SetNumber(option, 0, kMaxSeconds, &out_.timeout_seconds);
    case kRunKillGrace:
      return SetNumber(option, 1, 3600, &out_.kill_grace_seconds);
    case kRunStdin:
      return SetStdin(option);
    case kRunInject: {
      constexpr std::string_view kWords[] = {"auto", "always", "never"};
      return SetOneOf(option, kWords, &out_.inject);
    }
    case kRunAllowRoot:
      out_.allow_run_as_root = true;
      return Status();
    case kRunVersion:
      out_.version = true;
      return Status();
    case kRunHelp:
      out_.help = true;
      return Status();
    default:
      return ApplyWhere(option);
  }
}

Status RunParser::ApplyWhere(const ParsedOption& option) {
  switch (option.id) {
    case kRunHost: {
      Result<std::vector<Host>> hosts = ParseHostList(option.values[0]);
      if (!hosts.ok()) return hosts.status();
      Append(&app_.hosts, *std::move(hosts));
      return Status();
    }
    case kRunHostfile: {
      Result<std::vector<Host>> hosts = LoadHostfile(option.values[0]);
      if (!hosts.ok()) return hosts.status();
      Append(&app_.hosts, *std::move(hosts));
      return Status();
    }
    case kRunNodes:
      return SetNumber(option, 1, kMaxNodes, &out_.nodes);
    case kRunRadix:
      return SetNumber(option, 2, kMaxRadix, &out_.radix);
    case kRunContext:
      out_.context = option.values[0];
      return Status();
    case kRunLaunchAgent:
      out_.launch_agent = option.values[0];
      return Status();
    default:
      return ApplyPlacement(option);
  }
}

Status RunParser::ApplyPlacement(const ParsedOption& option) {
  switch (option.id) {
    case kRunMapBy:
      out_.map_by = option.values[0];
      return Status();
    case kRunRankBy:
      out_.rank_by = option.values[0];
      return Status();
    case kRunBindTo:
      out_.bind_to = option.values[0];
      return Status();
    case kRunOversubscribe:
      out_.oversubscribe = true;
      return Status();
    case kRunNoOversubscribe:
      map_suffix_ += ":nooversubscribe";
      return Status();
    case kRunNoLocal:
      out_.no_local = true;
      return Status();
    case kRunDoNotLaunch:
      out_.do_not_launch = true;
      return Status();
    default:
      return ApplyShortcut(option);
  }
}

// Older spellings of the policies.
Status RunParser::ApplyShortcut(const ParsedOption& option) {
  uint32_t n = 1;
  if (!option.values.empty() &&
      (option.id == kRunPerNode || option.id == kRunPerSocket ||
       option.id == kRunCpusPerProc)) {
    Status status = SetNumber(option, 1, kMaxProcs, &n);
    if (!status.ok()) return status;
  }
  switch (option.id) {
    case kRunPerNode:
    case kRunOnePerNode:
      out_.map_by = "ppr:" + std::to_string(n) + ":node";
      return Status();
    case kRunPerSocket:
      out_.map_by = "ppr:" + std::to_string(n) + ":package";
      return Status();
    case kRunCpusPerProc:
      map_suffix_ += ":pe=" + std::to_string(n);
      return Status();
    case kRunByNode:
      out_.map_by = "node";
      return Status();
    case kRunBySlot:
      out_.map_by = "slot";
      return Status();
    case kRunByCore:
      out_.map_by = "core";
      return Status();
    case kRunBindCore:
      out_.bind_to = "core";
      return Status();
    case kRunBindSocket:
      out_.bind_to = "package";
      return Status();
    case kRunBindNone:
      out_.bind_to = "none";
      return Status();
    default:
      return ApplyEnvironment(option);
  }
}

Status RunParser::ApplyEnvironment(const ParsedOption& option) {
  const auto set = [&option, this](std::vector<std::string>* env,
                                   const char* prefix) {
    SetVariable(env, prefix + option.values[0], option.values[1]);
    return Status();
  };
  switch (option.id) {
    case kRunExport:
      return Export(option);
    case kRunAppEnv:
      return set(&app_.env, "");
    case kRunGlobalEnv:
      return set(&out_.env, "");
    case kRunMca:
      return set(&app_.env, "OMPI_MCA_");
    case kRunGlobalMca:
      return set(&out_.env, "OMPI_MCA_");
    case kRunPmixMca:
      return set(&app_.env, "PMIX_MCA_");
    case kRunPrteMca:
      return set(&app_.env, "PRTE_MCA_");
    case kRunPath:
      PutBefore("PATH", option.values[0]);
      return Status();
    case kRunPrefix:
      PutBefore("PATH", option.values[0] + "/bin");
      PutBefore("LD_LIBRARY_PATH", option.values[0] + "/lib");
      return Status();
    default:
      return ApplyOutput(option);
  }
}

Status RunParser::ApplyOutput(const ParsedOption& option) {
  switch (option.id) {
    case kRunReportBindings:
      out_.report_bindings = true;
      return Status();
    case kRunDisplay:
      return Display(option.values[0]);
    case kRunDisplayMap:
      out_.display_map = true;
      return Status();
    case kRunDisplayAllocation:
      out_.display_allocation = true;
      return Status();
    case kRunTag:
      out_.tag_output = true;
      return Status();
    case kRunTimestamp:
      out_.timestamp_output = true;
      return Status();
    case kRunMerge:
      out_.merge_stderr = true;
      return Status();
    case kRunOutputFilename:
      return OutputDirectory(option.values[0]);
    case kRunOutput:
      return Output(option);
    case kRunFormat: {
      constexpr std::string_view kWords[] = {"json", "text"};
      std::string format;
      Status status = SetOneOf(option, kWords, &format);
      out_.json = format == "json";
      return status;
    }
    case kRunVerbose:
      out_.verbose = true;
      return Status();
    default:
      out_.quiet = true;
      return Status();
  }
}

Status RunParser::Export(const ParsedOption& option) {
  const std::string& text = option.values[0];
  const size_t equals = text.find('=');
  if (text.empty() || equals == 0) {
    return Bad(option, "NAME or NAME=VALUE");
  }
  if (equals != std::string::npos) {
    app_.env.push_back(text);
    return Status();
  }
  const char* const value = environment_(text.c_str());
  if (value == nullptr) {
    out_.warnings.push_back("-x " + text +
                            ": the variable is not set; ignored");
    return Status();
  }
  SetVariable(&app_.env, text, value);
  return Status();
}

void RunParser::PutBefore(const char* name, const std::string& value) {
  const std::string start = std::string(name) + "=";
  for (std::string& entry : app_.env) {
    if (!entry.starts_with(start)) continue;
    entry = start + value + ":" + entry.substr(start.size());
    return;
  }
  const char* const old = environment_(name);
  const bool rest = old != nullptr && *old != '\0';
  app_.env.push_back(start + value + (rest ? std::string(":") + old : ""));
}

Status RunParser::SetStdin(const ParsedOption& option) {
  const std::string& value = option.values[0];
  if (value != "all" && value != "none" && !ParseNumber(value, kMaxProcs)) {
    return Bad(option, "a rank, 'all' or 'none'");
  }
  out_.stdin_target = value;
  return Status();
}

Status RunParser::Display(const std::string& words) {
  constexpr std::string_view kWords[] = {"map", "allocation", "alloc",
                                         "bindings", "bind"};
  for (const std::string& word : Split(words, ',')) {
    if (word == "map") {
      out_.display_map = true;
    } else if (word == "allocation" || word == "alloc") {
      out_.display_allocation = true;
    } else if (word == "bindings" || word == "bind") {
      out_.report_bindings = true;
    } else {
      const std::string_view nearest = Nearest(word, kWords);
      return Status(
          kErrBadParam,
          "--display knows map, allocation and bindings, not '" + word + "'" +
              (nearest.empty()
                   ? ""
                   : "; did you mean '" + std::string(nearest) + "'?"));
    }
  }
  return Status();
}

Status RunParser::Output(const ParsedOption& option) {
  for (const std::string& word : Split(option.values[0], ',')) {
    if (word == "tag") {
      out_.tag_output = true;
    } else if (word == "timestamp") {
      out_.timestamp_output = true;
    } else if (word == "merge" || word == "merge-stderr-to-stdout") {
      out_.merge_stderr = true;
    } else if (word.starts_with("dir=") || word.starts_with("directory=")) {
      Status status = OutputDirectory(word.substr(word.find('=') + 1));
      if (!status.ok()) return status;
    } else {
      return Bad(option, "tag, timestamp, merge or dir=DIR");
    }
  }
  return Status();
}

Status RunParser::OutputDirectory(const std::string& text) {
  const std::vector<std::string> parts = Split(text, ':');
  if (parts[0].empty()) {
    return Status(kErrBadParam, "--output-filename wants a directory");
  }
  out_.output_directory = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) {
    for (const std::string& word : Split(parts[i], ',')) {
      if (word == "nocopy") {
        out_.only_to_files = true;
      } else if (word == "nojobid") {
        out_.job_below_directory = false;
      } else if (word != "copy" && word != "jobid") {
        return Status(kErrBadParam,
                      "--output-filename knows :nocopy and "
                      ":nojobid, not ':" +
                          word + "'");
      }
    }
  }
  return Status();
}

Status RunParser::LoadAppFile(const std::string& path) {
  Result<std::string> content = ReadFile(path, kMaxAppFile);
  if (!content.ok()) {
    return Status(content.code(),
                  "cannot read app file " + content.status().message());
  }
  in_app_file_ = true;
  const size_t before = out_.apps.size();
  const AppOptions shared = app_;
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
    AppOptions& app = out_.apps.back();
    app.env.insert(app.env.begin(), shared.env.begin(), shared.env.end());
    if (app.cwd.empty()) app.cwd = shared.cwd;
    if (app.num_procs == 0) app.num_procs = shared.num_procs;
    if (app.hosts.empty()) app.hosts = shared.hosts;
  }
  in_app_file_ = false;
  if (out_.apps.size() > before) return Status();
  return Status(kErrBadParam, "app file " + path + " names no program");
}

Status RunParser::Check() {
  if (out_.nodes != 0 && !out_.context.empty()) {
    return Status(kErrBadParam,
                  "--nodes emulates nodes of its own and --context names an "
                  "overlay that is up; use one of them");
  }
  if (!out_.launch_agent.empty() &&
      out_.launch_agent.find("{host}") == std::string::npos) {
    return Status(kErrBadParam,
                  "--launch-agent wants a command with {host} in it, as in "
                  "'ssh {host}'");
  }
  return Status();
}

}  // namespace

Result<RunOptions> ParseRunOptions(std::span<const std::string> args,
                                   const Environment& environment) {
  return RunParser(environment).Parse(args);
}

std::string RunOptionHelp() { return OptionHelp(RunOptionTable()); }

}  // namespace canopy::cli
