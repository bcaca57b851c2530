// The ends of calls as the check reads and prints them.
#ifndef CANOPY_CLIENT_CLI_HOST_MODULE_STATUS_TEXT_H_
#define CANOPY_CLIENT_CLI_HOST_MODULE_STATUS_TEXT_H_

#include <grpcpp/support/status.h>

#include <string>

#include "server/scheduler/contract/call_end.h"

namespace canopy::cli {

scheduler::CallEnd EndOf(const grpc::Status& status);

// Returns "status UNAVAILABLE (connection refused)", for example, with the PMIx
// status that an agent reads from an error.
std::string StatusText(const scheduler::CallEnd& end);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_HOST_MODULE_STATUS_TEXT_H_
