#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <utility>
#include <vector>

#include "client/cli/agents/agent_plans.h"
#include "client/cli/base/command.h"
#include "client/cli/base/file_util.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/documents.h"
#include "client/cli/commands/log_follow.h"
#include "client/cli/context/context_choice.h"
#include "client/cli/context/context_store.h"
#include "client/cli/control/context_target.h"
#include "client/cli/options/command_line.h"
#include "client/cli/options/option_setters.h"
#include "common/string_util.h"

namespace canopy::cli {
namespace {

constexpr size_t kMaxLog = 256u << 20;
constexpr uint32_t kMaxLines = 1u << 30;
// The last lines of a long log are read in chunks from its end.
constexpr size_t kChunk = 64u << 10;

std::string LogPath(const bootstrap::v1::NodeInfo& node) {
  return node.runtime_dir() + "/agent.log";
}

bool IsHere(const bootstrap::v1::NodeInfo& node) {
  struct stat info;
  return stat(node.runtime_dir().c_str(), &info) == 0 &&
         info.st_uid == geteuid();
}

std::string LastLines(const std::string& text, uint32_t lines) {
  size_t start = text.size();
  if (start > 0 && text.back() == '\n') --start;
  for (uint32_t i = 0; i < lines && start != std::string::npos; ++i) {
    start = start == 0 ? std::string::npos : text.rfind('\n', start - 1);
  }
  return start == std::string::npos ? text : text.substr(start + 1);
}

// Returns the words of the remote-launch command for the node.
Result<std::vector<std::string>> WayTo(const v1::Context& context,
                                       const bootstrap::v1::NodeInfo& node) {
  Result<std::vector<Host>> host = ParseHostList(node.name());
  if (!host.ok()) return host.status();
  Result<std::vector<AgentSite>> site =
      HostSites(*host, context.launch_agent());
  if (!site.ok()) return site.status();
  return std::move((*site)[0].remote_command);
}

// Runs tail on the node through the remote-launch command.
Result<std::string> RemoteLog(const v1::Context& context,
                              const bootstrap::v1::NodeInfo& node,
                              uint32_t lines) {
  const Result<std::vector<std::string>> way = WayTo(context, node);
  if (!way.ok()) return way.status();
  std::string command;
  for (const std::string& word : *way) command += ShellQuoted(word) + " ";
  command += "tail -n " + std::to_string(lines) + " " +
             ShellQuoted(LogPath(node)) + " </dev/null 2>&1";
  FILE* const pipe = popen(command.c_str(), "re");
  if (pipe == nullptr) {
    return Status(kErrSysLimitsFiles, "cannot start " + command);
  }
  std::string text;
  std::vector<char> chunk(kChunk);
  size_t n;
  while ((n = fread(chunk.data(), 1, chunk.size(), pipe)) > 0) {
    if (text.size() < kMaxLog) text.append(chunk.data(), n);
  }
  if (pclose(pipe) == 0) return text;
  return Status(kErrUnreach,
                "node '" + node.name() + "': " + std::string(Trim(text)));
}

bool IsLocal(const v1::Context& context, const bootstrap::v1::NodeInfo& node) {
  return context.launch_agent().empty() || IsHere(node);
}

Result<std::string> Log(const v1::Context& context,
                        const bootstrap::v1::NodeInfo& node, uint32_t lines) {
  if (IsLocal(context, node)) {
    Result<std::string> text = ReadFile(LogPath(node), kMaxLog);
    if (!text.ok()) return text;
    return LastLines(*text, lines);
  }
  return RemoteLog(context, node, lines);
}

Status CheckNodes(const v1::Context& context,
                  const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    const bool known = std::ranges::any_of(
        context.members(),
        [&word](const auto& node) { return node.name() == word; });
    if (!known) {
      return Status(kErrNotFound, "context '" + context.name() +
                                      "' has no node '" + word +
                                      "'; 'canopy status' lists them");
    }
  }
  return Status();
}

bool Chosen(const std::vector<std::string>& words, const std::string& node) {
  return words.empty() || std::ranges::count(words, node) > 0;
}

int PrintLogs(const v1::Context& context, const std::vector<std::string>& words,
              uint32_t lines) {
  int exit_code = 0;
  for (const auto& node : context.members()) {
    if (!Chosen(words, node.name())) continue;
    Result<std::string> text = Log(context, node, lines);
    if (!text.ok()) {
      exit_code = Fail(text.status());
      continue;
    }
    const std::string head =
        words.size() == 1 ? "" : "==> " + node.name() + " <==\n";
    if (PrintText(head + *text) != 0) return kExitFailure;
  }
  return exit_code;
}

Json LogJson(const std::string& node, const Result<std::string>& text) {
  Json log;
  log["node"] = node;
  log["lines"] = Json::array();
  log["error"] = text.ok() ? Json() : Json(text.status().message());
  if (!text.ok()) return log;
  std::istringstream in(*text);
  for (std::string row; std::getline(in, row);) log["lines"].push_back(row);
  return log;
}

int PrintJson(const v1::Context& context, const std::vector<std::string>& words,
              uint32_t lines) {
  Json out;
  out["logs"] = Json::array();
  int exit_code = 0;
  for (const auto& node : context.members()) {
    if (!Chosen(words, node.name())) continue;
    const Result<std::string> text = Log(context, node, lines);
    out["logs"].push_back(LogJson(node.name(), text));
    if (!text.ok()) exit_code = kExitFailure;
  }
  return PrintDocument(out, exit_code);
}

Result<LogSource> SourceOf(const v1::Context& context,
                           const bootstrap::v1::NodeInfo& node,
                           uint32_t lines) {
  LogSource source;
  source.node = node.name();
  if (!IsLocal(context, node)) {
    Result<std::vector<std::string>> way = WayTo(context, node);
    if (!way.ok()) return way.status();
    source.command = *std::move(way);
  }
  // The command also works after the end of the agent, because the log remains
  // until the overlay is down.
  for (const std::string& word :
       {std::string("tail"), std::string("-n"), std::to_string(lines),
        std::string("-f"), LogPath(node)}) {
    source.command.push_back(word);
  }
  return source;
}

bool IsDown(const v1::Context& context) {
  if (context.has_launcher()) return HasEnded(context);
  const Result<v1::Context> now = ContextStore().Load(context.name());
  return !now.ok() || now->overlay_id() != context.overlay_id();
}

int Follow(const v1::Context& context, const SharedOptions& shared,
           uint32_t lines) {
  std::vector<LogSource> sources;
  for (const auto& node : context.members()) {
    if (!Chosen(shared.words, node.name())) continue;
    Result<LogSource> source = SourceOf(context, node, lines);
    if (!source.ok()) return Fail(source.status());
    sources.push_back(*std::move(source));
  }
  return FollowLogs(sources, {shared.json, sources.size() > 1,
                              [&context] { return IsDown(context); }});
}

}  // namespace

int LogsCommand(const CommandLine& line) {
  SharedOptions shared;
  uint32_t lines = 100;
  bool follow = false;
  const CommandInfo info = {
      "logs",
      "[NODE...] [options]",
      "Prints the logs of the agents of an overlay.\n",
      {{"lines n", 1, "N", "print the last N lines of each log (100)",
        SetNumber(&lines, 0, kMaxLines)},
       {"follow f", 0, "",
        "also print the lines that are added, until Ctrl-C or\n"
        "the end of the overlay; with -o json, each line is a\n"
        "document",
        SetFlag(&follow)}},
      0,
      1024};
  const ParseOutcome parsed = ParseCommandLine(info, line, &shared);
  if (!parsed.go_on) return parsed.exit_code;
  Result<v1::Context> context = NeedContext(shared.context);
  if (!context.ok()) return Fail(context.status());
  Status status = CheckNodes(*context, shared.words);
  if (!status.ok()) return Fail(status);
  if (follow) return Follow(*context, shared, lines);
  return (shared.json ? PrintJson : PrintLogs)(*context, shared.words, lines);
}

}  // namespace canopy::cli
