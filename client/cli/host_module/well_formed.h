// What can be said of a scheduler's message without knowing what was asked.
#ifndef CANOPY_CLIENT_CLI_HOST_MODULE_WELL_FORMED_H_
#define CANOPY_CLIENT_CLI_HOST_MODULE_WELL_FORMED_H_

#include <string>

#include "protos/host_module.pb.h"

namespace canopy::cli {

// Each returns what is wrong, or nothing. (protos/host_module.proto)
std::string ProblemOf(const hostmodule::v1::Info& info);
std::string ProblemOf(const hostmodule::v1::HostReply& reply);
std::string ProblemOf(const hostmodule::v1::GetCapabilitiesReply& reply);
std::string ProblemOf(const hostmodule::v1::Granted& granted);
std::string ProblemOf(const hostmodule::v1::Refused& refused);
// `now_ms`: since 1970.
std::string ProblemOf(const hostmodule::v1::Queued& queued, int64_t now_ms);

// "SLOT_PLACE_JOB" without its prefix, in small letters.
std::string SlotName(hostmodule::v1::Slot slot);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_HOST_MODULE_WELL_FORMED_H_
