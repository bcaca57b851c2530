// Writes lines of the core and of the adapters to the agent's log.
#ifndef CANOPY_SERVER_AGENT_BRING_UP_LOG_H_
#define CANOPY_SERVER_AGENT_BRING_UP_LOG_H_

#include "server/core/step/log_line.h"

namespace canopy::agent {

void Log(const core::LogLine& line);

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_BRING_UP_LOG_H_
