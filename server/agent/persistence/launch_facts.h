// The record of how a job was launched.
#ifndef CANOPY_SERVER_AGENT_PERSISTENCE_LAUNCH_FACTS_H_
#define CANOPY_SERVER_AGENT_PERSISTENCE_LAUNCH_FACTS_H_

#include <string>
#include <string_view>

#include "server/control/job_record.h"

namespace canopy::agent {

std::string EncodeFacts(const control::LaunchFacts& facts);

// What an older agent's record does not say is as of a job that nothing special
// was asked for. Of bytes that are no such record, nothing is taken.
control::LaunchFacts DecodeFacts(std::string_view bytes);

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_PERSISTENCE_LAUNCH_FACTS_H_
