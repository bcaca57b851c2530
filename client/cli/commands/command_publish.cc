// publish, lookup, unpublish: manage names that all jobs of an overlay share.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/command.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/tool.h"
#include "client/cli/context/context_choice.h"
#include "client/cli/options/command_line.h"
#include "client/cli/options/option_setters.h"

namespace canopy::cli {
namespace {

constexpr size_t kMaxKeys = 256;
constexpr size_t kMaxKeyLen = 511;
constexpr uint32_t kMaxSeconds = INT32_MAX;

Option RangeOption(const char* help, std::string* to) {
  return {"range", 1, "RANGE", help,
          SetOneOf(to, {"session", "global", "local"})};
}

// A key that begins with "pmix" would be a directive instead of a name.
Status CheckKey(const std::string& key) {
  if (!key.empty() && key.size() <= kMaxKeyLen && !key.starts_with("pmix")) {
    return Status();
  }
  return Status(kErrBadParam, "'" + key +
                                  "' cannot be published: a name has 1 to "
                                  "511 bytes and does not begin with pmix");
}

Status AddPair(const std::string& word, std::vector<std::string>* out) {
  const size_t equals = word.find('=');
  if (equals == std::string::npos) {
    return Status(kErrBadParam, "'" + word + "' is not KEY=VALUE");
  }
  out->push_back(word.substr(0, equals));
  out->push_back(word.substr(equals + 1));
  return CheckKey(word.substr(0, equals));
}

int Execute(const SharedOptions& shared, std::vector<std::string> words) {
  const Result<v1::Context> context = NeedContext(shared.context);
  if (!context.ok()) return Fail(context.status());
  return ExecuteTool(*context, std::move(words), shared.json);
}

}  // namespace

int PublishCommand(const CommandLine& line) {
  std::string range = "session";
  std::string persistence = "indef";
  const CommandInfo info = {
      "publish",
      "KEY=VALUE... [options]",
      "Publishes values under keys, for PMIx_Lookup and 'canopy lookup'.\n",
      {RangeOption("who can look the keys up: session (default), global,\n"
                   "or local (this node)",
                   &range),
       {"persist", 1, "WHEN",
        "lifetime: indef (until unpublished, the default),\n"
        "first-read or session",
        SetOneOf(&persistence, {"indef", "first-read", "session"})}},
      1,
      kMaxKeys};
  SharedOptions shared;
  const ParseOutcome parsed = ParseCommandLine(info, line, &shared);
  if (!parsed.go_on) return parsed.exit_code;
  std::vector<std::string> words = {"publish", range, persistence};
  for (const std::string& word : shared.words) {
    if (Status s = AddPair(word, &words); !s.ok()) {
      return FailUsage("publish", s);
    }
  }
  return Execute(shared, std::move(words));
}

int LookupCommand(const CommandLine& line) {
  std::string range = "session";
  bool waits = false;
  uint32_t timeout_s = 0;
  const CommandInfo info = {
      "lookup",
      "KEY... [options]",
      "Prints the values that were published under keys. The exit code is 1 if "
      "a\n"
      "key is not found.\n",
      {RangeOption("where to search: session (default), global, or\n"
                   "local (this node)",
                   &range),
       {"wait", 0, "", "wait until all keys are published", SetFlag(&waits)},
       {"timeout", 1, "SECONDS", "wait no longer than this",
        SetSeconds(&timeout_s, 1, kMaxSeconds)}},
      1,
      kMaxKeys};
  SharedOptions shared;
  const ParseOutcome parsed = ParseCommandLine(info, line, &shared);
  if (!parsed.go_on) return parsed.exit_code;
  std::vector<std::string> words = {
      "lookup", range, waits ? "wait" : "",
      timeout_s == 0 ? "" : std::to_string(timeout_s)};
  words.insert(words.end(), shared.words.begin(), shared.words.end());
  return Execute(shared, std::move(words));
}

int UnpublishCommand(const CommandLine& line) {
  std::string range = "session";
  const CommandInfo info = {
      "unpublish",
      "KEY... [options]",
      "Removes values that 'canopy publish' has published on this machine.\n",
      {RangeOption("range with which the keys were published", &range)},
      1,
      kMaxKeys};
  SharedOptions shared;
  const ParseOutcome parsed = ParseCommandLine(info, line, &shared);
  if (!parsed.go_on) return parsed.exit_code;
  std::vector<std::string> words = {"unpublish", range};
  words.insert(words.end(), shared.words.begin(), shared.words.end());
  return Execute(shared, std::move(words));
}

}  // namespace canopy::cli
