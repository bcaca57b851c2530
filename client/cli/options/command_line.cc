#include "client/cli/options/command_line.h"

#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "client/cli/base/color.h"
#include "client/cli/config/the_config.h"
#include "client/cli/options/option_setters.h"
#include "common/status.h"

namespace canopy::cli {
namespace {

Option::Apply Format(const CommandInfo& info, bool* json) {
  if (info.prints_json) return SetFormat(json);
  return [name = std::string(info.name), json](const TypedOption& typed) {
    if (Status s = SetFormat(json)(typed); !s.ok() || !*json) return s;
    return Status(kErrNotSupported, "'canopy " + name + "' prints no JSON");
  };
}

OptionTable AllOptions(const CommandInfo& info, SharedOptions* shared) {
  OptionTable all = info.options;
  all.push_back({"context", 1, "NAME",
                 "agents to use: name of an overlay, or run-PID\n"
                 "(default: CANOPY_CONTEXT, or the agents that are up)",
                 SetText(&shared->context)});
  all.push_back({"o", 1, "json", info.prints_json ? "print JSON" : "",
                 Format(info, &shared->json)});
  all.push_back({"color", 1, "WHEN",
                 "colours: always, never, or auto (on a terminal, the\n"
                 "default)",
                 SetOneOf(&shared->color, {"auto", "always", "never"})});
  all.push_back({"help h", 0, "", "print this help", SetFlag(&shared->help),
                 /*last=*/true});
  return all;
}

std::string JobWordText(JobWord word) {
  if (word == JobWord::kNone) return "";
  return std::string("JOB is a name shown by 'canopy ps") +
         (word == JobWord::kKnown ? " --all" : "") +
         "', its last part (1 for\n"
         "canopy-5ea2c6c9-1), or the name that 'canopy run --name' gave it.\n";
}

int PrintHelp(const CommandInfo& info, const OptionTable& options) {
  std::string text = "usage: canopy " + std::string(info.name);
  if (!info.usage.empty()) text += " " + std::string(info.usage);
  text += "\n\n" + std::string(info.about) + JobWordText(info.job_word) +
          "\noptions:\n" + OptionHelp(options);
  return PrintText(text);
}

Status CheckWords(const CommandInfo& info, const SharedOptions& shared) {
  if (shared.words.size() > info.max_words) {
    return Status(kErrBadParam,
                  "unexpected argument '" + shared.words[info.max_words] + "'");
  }
  if (shared.words.size() < info.min_words) {
    return Status(kErrBadParam, "usage: canopy " + std::string(info.name) +
                                    " " + std::string(info.usage));
  }
  return Status();
}

}  // namespace

namespace {

void UseConfig(const Config& config, const CommandInfo& info,
               SharedOptions* shared) {
  shared->context = config.Text("context");
  shared->json = info.prints_json && config.Text("output") == "json";
  shared->color = config.at("color").text;
}

const char* Variable(const char* name) { return std::getenv(name); }

}  // namespace

ParseOutcome ParseCommandLine(const CommandInfo& info, const CommandLine& line,
                              SharedOptions* shared) {
  const Result<Config>& config = TheConfig();
  if (config.ok()) UseConfig(*config, info, shared);
  const auto failed = [&info](const Status& status) {
    return ParseOutcome{false, FailUsage(std::string(info.name), status)};
  };
  const OptionTable options = AllOptions(info, shared);
  Result<std::vector<std::string>> words =
      ApplyOptions(options, line.args, RestRule::kBetween);
  if (!words.ok()) return failed(words.status());
  if (shared->help) return {false, PrintHelp(info, options)};
  if (!config.ok()) {
    PrintError(config.status().message());
    return {false, kExitUsage};
  }
  UseColor(!shared->json &&
           WantsColor(shared->color, isatty(STDOUT_FILENO) != 0, Variable));
  shared->words = *std::move(words);
  if (Status status = CheckWords(info, *shared); !status.ok()) {
    return failed(status);
  }
  return {true, 0};
}

}  // namespace canopy::cli
