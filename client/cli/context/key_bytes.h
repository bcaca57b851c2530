// Converts the bytes of a context's cluster key to a ClusterKey.
#ifndef CANOPY_CLIENT_CLI_CONTEXT_KEY_BYTES_H_
#define CANOPY_CLIENT_CLI_CONTEXT_KEY_BYTES_H_

#include <string>

#include "common/status.h"
#include "server/security/cluster_key.h"

namespace canopy::cli {

// Returns kErrBadParam if `bytes` does not have 32 bytes.
Result<security::ClusterKey> ClusterKeyOf(const std::string& bytes);

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_CONTEXT_KEY_BYTES_H_
