// Writes lines of the core and of the adapters to the agent's log.
#ifndef CANOPY_SERVER_AGENT_BRING_UP_LOG_H_
#define CANOPY_SERVER_AGENT_BRING_UP_LOG_H_

#include <string>

#include "server/core/step/log_line.h"

namespace canopy::agent {

// Sets the form of all lines of the default logger: time, level, process, node
// and text. Control characters of the text are escaped, so a name that a peer
// claims does not begin a line of its own.
void SetLogPattern(const std::string& node);

// Logs a line with the default logger. A warning or an error is suppressed if
// too many of its kind or of its user were logged (net::LogGate). Any thread.
void Log(const core::LogLine& line);

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_BRING_UP_LOG_H_
