// Checks a scheduler's message without the request that it answers.
#ifndef CANOPY_CLIENT_CLI_HOST_MODULE_WELL_FORMED_H_
#define CANOPY_CLIENT_CLI_HOST_MODULE_WELL_FORMED_H_

#include <string>

#include "protos/canopy/hostmodule/v1/host_module.pb.h"

namespace canopy::cli {

// Each function returns a description of the problem, or an empty string if the
// message is as protos/canopy/hostmodule/v1/host_module.proto requires.
std::string ProblemOf(const hostmodule::v1::Info& info);
// Checks the results of a process's call.
std::string ProblemOf(
    const google::protobuf::RepeatedPtrField<hostmodule::v1::Info>& results);
std::string ProblemOf(const hostmodule::v1::GetCapabilitiesResponse& reply);
std::string ProblemOf(const hostmodule::v1::Granted& granted);
// `now_ms` is the time since 1970 in milliseconds.
std::string ProblemOf(const hostmodule::v1::Queued& queued, int64_t now_ms);

// Returns the name of a feature without the prefix "FEATURE_", in lower case.
std::string FeatureName(hostmodule::v1::Feature feature);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_HOST_MODULE_WELL_FORMED_H_
