#include "server/agent/bring_up/log.h"

#include <spdlog/spdlog.h>

namespace canopy::agent {

void Log(const core::LogLine& line) {
  switch (line.level) {
    case core::LogLine::Level::kInfo:
      return spdlog::info("{}", line.text);
    case core::LogLine::Level::kWarning:
      return spdlog::warn("{}", line.text);
    case core::LogLine::Level::kError:
      return spdlog::error("{}", line.text);
  }
}

}  // namespace canopy::agent
