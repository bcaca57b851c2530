// What the core and the adapters have to say to an operator.
#ifndef CANOPY_SERVER_CORE_STEP_LOG_LINE_H_
#define CANOPY_SERVER_CORE_STEP_LOG_LINE_H_

#include <cstdint>
#include <string>

namespace canopy::core {

// One line for the log that an operator wants to see.
struct LogLine {
  enum class Level : uint8_t { kInfo, kWarning, kError };
  Level level = Level::kInfo;
  std::string text;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_LOG_LINE_H_
