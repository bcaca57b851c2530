// The cluster key as a context has it.
#ifndef CANOPY_CLIENT_CLI_CONTEXT_KEY_BYTES_H_
#define CANOPY_CLIENT_CLI_CONTEXT_KEY_BYTES_H_

#include <string>

#include "common/status.h"
#include "server/security/cluster_key.h"

namespace canopy::cli {

// kErrBadParam: these are no 32 bytes.
Result<security::ClusterKey> ClusterKeyOf(const std::string& bytes);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_CONTEXT_KEY_BYTES_H_
