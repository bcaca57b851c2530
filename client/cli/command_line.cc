#include "client/cli/command_line.h"

#include <unistd.h>

#include <utility>

#include "client/cli/file_util.h"

namespace canopy::cli {
namespace {

constexpr OptionSpec kShared[] = {
    {kSharedContext, "context", 1, "NAME",
     "overlay to use (default: CANOPY_CONTEXT, or the one that is up)"},
    {kSharedFormat, "o", 1, "json", "print JSON"},
    {kSharedHelp, "help h", 0, "", "print this"},
};

std::vector<OptionSpec> AllOptions(const CommandInfo& info) {
  std::vector<OptionSpec> all(info.options.begin(), info.options.end());
  all.insert(all.end(), std::begin(kShared), std::end(kShared));
  return all;
}

int PrintHelp(const CommandInfo& info) {
  std::string text = "usage: canopy " + std::string(info.name);
  if (!info.usage.empty()) text += " " + std::string(info.usage);
  text += "\n\n" + std::string(info.about) + "\noptions:\n" +
          OptionHelp(AllOptions(info));
  return WriteAll(STDOUT_FILENO, text) ? 0 : kExitFailure;
}

Status ApplyShared(const ParsedOption& option, SharedOptions* shared) {
  if (option.id == kSharedContext) {
    shared->context = option.values[0];
    return Status();
  }
  if (option.values[0] != "json" && option.values[0] != "text") {
    return Status(kErrBadParam, "option '" + option.typed +
                                    "' wants json or text, not '" +
                                    option.values[0] + "'");
  }
  shared->json = option.values[0] == "json";
  return Status();
}

Status CheckWords(const CommandInfo& info, const SharedOptions& shared) {
  if (shared.words.size() > info.max_words) {
    return Status(kErrBadParam, "'" + shared.words[info.max_words] +
                                    "' is one word too many");
  }
  if (shared.words.size() < info.min_words) {
    return Status(kErrBadParam, "usage: canopy " + std::string(info.name) +
                                    " " + std::string(info.usage));
  }
  return Status();
}

}  // namespace

ParseOutcome ParseCommandLine(
    const CommandInfo& info, const CommandLine& line, SharedOptions* shared,
    const std::function<Status(const ParsedOption&)>& apply) {
  const auto failed = [&info](const Status& status) {
    return ParseOutcome{false, FailUsage(std::string(info.name), status)};
  };
  Result<ParsedLine> parsed =
      ParseLine(AllOptions(info), line.args, RestRule::kBetween);
  if (!parsed.ok()) return failed(parsed.status());
  for (const ParsedOption& option : parsed->options) {
    if (option.id == kSharedHelp) return {false, PrintHelp(info)};
    Status status = option.id < kFirstSharedOption
                        ? apply(option)
                        : ApplyShared(option, shared);
    if (!status.ok()) return failed(status);
  }
  shared->words = std::move(parsed->rest);
  if (Status status = CheckWords(info, *shared); !status.ok()) {
    return failed(status);
  }
  return {true, 0};
}

}  // namespace canopy::cli
