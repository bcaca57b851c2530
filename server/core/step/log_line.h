// Log lines of the core and the adapters for an operator.
#ifndef CANOPY_SERVER_CORE_STEP_LOG_LINE_H_
#define CANOPY_SERVER_CORE_STEP_LOG_LINE_H_

#include <cstdint>
#include <string>

namespace canopy::core {

// One line of the agent's log.
struct LogLine {
  enum class Level : uint8_t { kInfo, kWarning, kError };
  Level level = Level::kInfo;
  std::string text;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_LOG_LINE_H_
