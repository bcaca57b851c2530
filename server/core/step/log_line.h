// Log lines of the core and the adapters for an operator.
#ifndef CANOPY_SERVER_CORE_STEP_LOG_LINE_H_
#define CANOPY_SERVER_CORE_STEP_LOG_LINE_H_

#include <cstdint>
#include <optional>
#include <string>

namespace canopy::core {

// One line of the agent's log.
struct LogLine {
  enum class Level : uint8_t { kInfo, kWarning, kError };
  Level level = Level::kInfo;
  std::string text;
  // The user whose process has caused the line; no value if no user's process
  // has. Each user has a separate limit of lines (net::LogGate).
  std::optional<uint32_t> uid = {};
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_LOG_LINE_H_
