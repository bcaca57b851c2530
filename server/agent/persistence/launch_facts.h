// Encodes the record of how a job was launched.
#ifndef CANOPY_SERVER_AGENT_PERSISTENCE_LAUNCH_FACTS_H_
#define CANOPY_SERVER_AGENT_PERSISTENCE_LAUNCH_FACTS_H_

#include <string>
#include <string_view>

#include "server/control/job_record.h"

namespace canopy::agent {

std::string EncodeFacts(const control::LaunchFacts& facts);

// Decodes a record. Fields that the record lacks have the value 0. If the bytes
// are malformed or truncated, all fields have their defaults.
control::LaunchFacts DecodeFacts(std::string_view bytes);

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_PERSISTENCE_LAUNCH_FACTS_H_
