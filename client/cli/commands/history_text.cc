#include "client/cli/commands/history_text.h"

#include <algorithm>
#include <ctime>
#include <utility>
#include <vector>

#include "client/cli/base/table.h"
#include "client/cli/commands/status_text.h"

namespace canopy::cli {
namespace {

std::string ExitText(const HistoryEntry& entry) {
  return entry.ended_ms == 0 ? "lost" : std::to_string(entry.exit_code);
}

}  // namespace

std::string TimeText(int64_t ms) {
  const auto seconds = static_cast<std::time_t>(ms / 1000);
  std::tm parts;
  localtime_r(&seconds, &parts);
  char text[64] = "";
  std::strftime(text, sizeof text, "%F %T", &parts);
  return text;
}

std::string DurationText(int64_t ms) {
  return AgeText(static_cast<uint64_t>(std::max<int64_t>(ms, 0)) / 1000);
}

std::string HistoryText(std::span<const HistoryEntry> entries, bool contexts,
                        size_t max_command) {
  const bool named = std::ranges::any_of(
      entries, [](const HistoryEntry& entry) { return !entry.name.empty(); });
  std::vector<std::string> head = {"ENDED JOB"};
  if (named) head.push_back("NAME");
  if (contexts) head.push_back("CONTEXT");
  for (const char* title :
       {"EXIT", "STARTED", "TIME", "PROCS", "NODES", "COMMAND"}) {
    head.push_back(title);
  }
  Table table(std::move(head));
  bool any = false;
  for (const HistoryEntry& entry : entries) {
    if (entry.ended_ms == 0 && !entry.lost()) continue;
    any = true;
    std::vector<std::string> row = {entry.job};
    if (named) row.push_back(entry.name.empty() ? "-" : entry.name);
    if (contexts) row.push_back(entry.context);
    for (std::string cell :
         {ExitText(entry), TimeText(entry.requested_ms),
          entry.ended_ms == 0
              ? std::string("-")
              : DurationText(entry.ended_ms - entry.requested_ms),
          std::to_string(entry.num_procs), std::to_string(entry.num_nodes),
          Shortened(entry.command, max_command)}) {
      row.push_back(std::move(cell));
    }
    table.Add(std::move(row));
  }
  return any ? table.ToString() : "";
}

}  // namespace canopy::cli
