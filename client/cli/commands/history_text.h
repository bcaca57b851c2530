// Text for people about the history of jobs.
#ifndef CANOPY_CLIENT_CLI_COMMANDS_HISTORY_TEXT_H_
#define CANOPY_CLIENT_CLI_COMMANDS_HISTORY_TEXT_H_

#include <cstdint>
#include <span>
#include <string>

#include "client/cli/history/history_store.h"

namespace canopy::cli {

// "2026-11-29 06:20:10", in the local time zone.
std::string TimeText(int64_t ms);
// "12 s", "3 min".
std::string DurationText(int64_t ms);

// One row for each entry that is no longer running, in the given order; empty
// if there is none. `contexts` adds a column.
// `max_command` is the length to which commands are shortened.
std::string HistoryText(std::span<const HistoryEntry> entries, bool contexts,
                        size_t max_command = SIZE_MAX);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_COMMANDS_HISTORY_TEXT_H_
