#include "client/cli/commands/history_text.h"

#include <algorithm>
#include <ctime>
#include <functional>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/base/table.h"
#include "client/cli/commands/status_text.h"

namespace canopy::cli {
namespace {

std::string ExitText(const HistoryEntry& entry) {
  return entry.ended_ms == 0 ? "lost" : std::to_string(entry.exit_code);
}

std::string LengthText(const HistoryEntry& entry) {
  return entry.ended_ms == 0
             ? "-"
             : DurationText(entry.ended_ms - entry.requested_ms);
}

struct Column {
  std::string title;
  std::function<std::string(const HistoryEntry& entry)> cell;
};

// Appends a column for `text`, which few entries have, unless no entry has it.
void AddOptional(const std::string& title, std::string HistoryEntry::*text,
                 std::span<const HistoryEntry> entries,
                 std::vector<Column>* columns) {
  const auto has_it = [text](const HistoryEntry& entry) {
    return !(entry.*text).empty();
  };
  if (std::ranges::none_of(entries, has_it)) return;
  columns->push_back({title, [text](const HistoryEntry& entry) {
                        const std::string& cell = entry.*text;
                        return cell.empty() ? "-" : cell;
                      }});
}

std::vector<Column> Columns(std::span<const HistoryEntry> entries,
                            bool contexts, size_t max_command) {
  std::vector<Column> columns = {{"ENDED JOB", &HistoryEntry::job}};
  AddOptional("NAME", &HistoryEntry::name, entries, &columns);
  AddOptional("PARENT", &HistoryEntry::parent, entries, &columns);
  if (contexts) columns.push_back({"CONTEXT", &HistoryEntry::context});
  const Column others[] = {
      {"EXIT", ExitText},
      {"STARTED",
       [](const HistoryEntry& entry) { return TimeText(entry.requested_ms); }},
      {"TIME", LengthText},
      {"PROCS",
       [](const HistoryEntry& entry) {
         return std::to_string(entry.num_procs);
       }},
      {"NODES",
       [](const HistoryEntry& entry) {
         return std::to_string(entry.num_nodes);
       }},
      {"COMMAND", [max_command](const HistoryEntry& entry) {
         return Shortened(entry.command, max_command);
       }}};
  columns.insert(columns.end(), std::begin(others), std::end(others));
  return columns;
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
  const std::vector<Column> columns = Columns(entries, contexts, max_command);
  std::vector<std::string> head;
  for (const Column& column : columns) head.push_back(column.title);
  Table table(std::move(head));
  bool any = false;
  for (const HistoryEntry& entry : entries) {
    if (entry.ended_ms == 0 && !entry.lost()) continue;
    any = true;
    std::vector<std::string> row;
    for (const Column& column : columns) row.push_back(column.cell(entry));
    table.Add(std::move(row));
  }
  return any ? table.ToString() : "";
}

}  // namespace canopy::cli
