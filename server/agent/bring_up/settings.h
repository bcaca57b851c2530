// The settings that follow from an agent's configuration.
#ifndef CANOPY_SERVER_AGENT_BRING_UP_SETTINGS_H_
#define CANOPY_SERVER_AGENT_BRING_UP_SETTINGS_H_

#include <cstdint>
#include <string>

#include "common/status.h"
#include "protos/bootstrap.pb.h"
#include "server/security/credentials.h"

namespace canopy::agent {

// Returns the path of a file beside the agent's own program, or the value of
// the environment variable if it is set.
std::string Beside(const char* variable, const std::string& relative);

// Returns the milliseconds of silence after which a node counts as lost.
uint32_t LossMs(const bootstrap::v1::Config& config);

// Returns how long other agents wait for a successor on this node, in
// milliseconds.
uint32_t GraceMs(const bootstrap::v1::Config& config);

// Returns the security of the links. Returns kErrBadParam for an unknown mode
// or a malformed cluster key. Does not open the files of certificates.
Result<security::SecurityConfig> MakeSecurity(
    const bootstrap::v1::Config& config);

// Returns the HOST:PORT at which other agents reach this agent. Port 0 means
// any free port.
std::string ListenAddress(const bootstrap::v1::Config& config);

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_BRING_UP_SETTINGS_H_
