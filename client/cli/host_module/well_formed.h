// Checks a scheduler's message by itself, without the request that it answers.
#ifndef CANOPY_CLIENT_CLI_HOST_MODULE_WELL_FORMED_H_
#define CANOPY_CLIENT_CLI_HOST_MODULE_WELL_FORMED_H_

#include <string>

#include "protos/host_module.pb.h"

namespace canopy::cli {

// Each returns a description of the problem, or an empty string
// (protos/host_module.proto).
std::string ProblemOf(const hostmodule::v1::Info& info);
std::string ProblemOf(const hostmodule::v1::HostReply& reply);
std::string ProblemOf(const hostmodule::v1::GetCapabilitiesReply& reply);
std::string ProblemOf(const hostmodule::v1::Granted& granted);
std::string ProblemOf(const hostmodule::v1::Refused& refused);
// `now_ms` is the time since 1970 in milliseconds.
std::string ProblemOf(const hostmodule::v1::Queued& queued, int64_t now_ms);

// Returns the name of a slot without the prefix "SLOT_", in lower case.
std::string SlotName(hostmodule::v1::Slot slot);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_HOST_MODULE_WELL_FORMED_H_
