// Encodes the record of how a job was launched.
#ifndef CANOPY_SERVER_AGENT_PERSISTENCE_LAUNCH_FACTS_H_
#define CANOPY_SERVER_AGENT_PERSISTENCE_LAUNCH_FACTS_H_

#include <string>
#include <string_view>

#include "server/control/job_record.h"

namespace canopy::agent {

std::string EncodeFacts(const control::LaunchFacts& facts);

// Decodes a record. Fields that an older agent's record lacks have their
// defaults, and so have all fields if the bytes are malformed.
control::LaunchFacts DecodeFacts(std::string_view bytes);

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_PERSISTENCE_LAUNCH_FACTS_H_
