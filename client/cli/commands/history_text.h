// Text for people about the history of jobs.
#ifndef CANOPY_CLIENT_CLI_COMMANDS_HISTORY_TEXT_H_
#define CANOPY_CLIENT_CLI_COMMANDS_HISTORY_TEXT_H_

#include <cstdint>
#include <span>
#include <string>

#include "client/cli/history/history_store.h"

namespace canopy::cli {

// Returns the local time, for example "2026-11-29 06:20:10". `ms` is the time
// since 1970.
std::string TimeText(int64_t ms);
// Returns the duration, for example "12 s" or "3 min".
std::string DurationText(int64_t ms);

// Returns one row for each entry whose job no longer runs, in the given order;
// an empty text if there is none. With `contexts`, a column names the contexts.
// `max_command` is the length to which commands are shortened.
std::string HistoryText(std::span<const HistoryEntry> entries, bool contexts,
                        size_t max_command = SIZE_MAX);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_COMMANDS_HISTORY_TEXT_H_
