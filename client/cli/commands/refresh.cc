#include "client/cli/commands/refresh.h"

#include <poll.h>
#include <unistd.h>

#include "client/cli/options/option_setters.h"

namespace canopy::cli {
namespace {

constexpr uint32_t kMaxInterval = 3600;

}  // namespace

void AddRefreshOptions(Refresh* to, OptionTable* table) {
  table->push_back({"interval d", 1, "SECONDS",
                    "time between refreshes (default: 2)",
                    SetMilliseconds(&to->interval_ms, 0, kMaxInterval)});
  table->push_back({"count n", 1, "N",
                    "stop after N refreshes (default: when interrupted)",
                    SetNumber(&to->count, 1, UINT32_MAX)});
}

int Repeat(const Refresh& refresh,
           const std::function<int(const std::string& clear)>& show) {
  const char* const clear = isatty(STDOUT_FILENO) ? "\033[H\033[2J" : "";
  int code = 0;
  for (uint32_t i = 0; code == 0 && (refresh.count == 0 || i < refresh.count);
       ++i) {
    if (i > 0) poll(nullptr, 0, static_cast<int>(refresh.interval_ms));
    code = show(clear);
  }
  return code;
}

}  // namespace canopy::cli
