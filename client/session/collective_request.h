// The request (kCollective) that PMIx_Fence, PMIx_Connect and PMIx_Disconnect
// share.
#ifndef CANOPY_CLIENT_SESSION_COLLECTIVE_REQUEST_H_
#define CANOPY_CLIENT_SESSION_COLLECTIVE_REQUEST_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "common/local/collectives.h"
#include "pmix.h"

namespace canopy::client {

struct CollectiveOptions {
  bool collect = false;
  uint32_t timeout_ms = 0;  // 0: none
};

// Reads the directives of the collective `function`. Returns a PMIx status:
// PMIX_ERR_BAD_PARAM for an invalid value, PMIX_ERR_NOT_SUPPORTED for a
// required directive that is not honoured.
int ParseCollectiveOptions(std::string_view function, const pmix_info_t* info,
                           size_t ninfo, CollectiveOptions* out);

// Encodes the frame's payload. Returns a PMIx status, because a directive may
// have a type that cannot be encoded.
int EncodeCollective(local::CollectiveOp operation,
                     std::span<const pmix_proc_t> participants,
                     std::span<const pmix_info_t> infos,
                     const CollectiveOptions& options, std::string* frame);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_COLLECTIVE_REQUEST_H_
