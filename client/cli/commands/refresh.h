// Commands that refresh their output until they are interrupted.
#ifndef CANOPY_CLIENT_CLI_COMMANDS_REFRESH_H_
#define CANOPY_CLIENT_CLI_COMMANDS_REFRESH_H_

#include <cstdint>
#include <functional>
#include <string>

#include "client/cli/options/option_parser.h"

namespace canopy::cli {

struct Refresh {
  uint32_t interval_ms = 2000;
  uint32_t count = 0;  // 0: without limit
};

// Adds the options --interval and --count, which set `to`, to the table.
void AddRefreshOptions(Refresh* to, OptionTable* table);

// Calls `show` until it returns an exit code other than 0, or `count` times.
// The argument of `show` is the text that clears the terminal; it is empty if
// standard output is not a terminal. Returns the last exit code.
int Repeat(const Refresh& refresh,
           const std::function<int(const std::string& clear)>& show);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_COMMANDS_REFRESH_H_
