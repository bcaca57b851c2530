// Converts the end of a call to the form that the check reads, and to text.
#ifndef CANOPY_CLIENT_CLI_HOST_MODULE_STATUS_TEXT_H_
#define CANOPY_CLIENT_CLI_HOST_MODULE_STATUS_TEXT_H_

#include <grpcpp/support/status.h>

#include <string>

#include "server/scheduler/contract/call_end.h"

namespace canopy::cli {

scheduler::CallEnd EndOf(const grpc::Status& status);

// Returns, for example, "status UNAVAILABLE (connection refused)" or, if the
// error contains a PMIx status, "status INTERNAL, PMIx status -29 (no room)".
std::string StatusText(const scheduler::CallEnd& end);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_HOST_MODULE_STATUS_TEXT_H_
