// Parses the arguments of PMIx_Publish, PMIx_Lookup and PMIx_Unpublish, in
// which data and directives share one array of infos.
#ifndef CANOPY_SERVER_CORE_PUBLISH_PUBLISH_CALLS_H_
#define CANOPY_SERVER_CORE_PUBLISH_PUBLISH_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "server/core/publish/publication.h"

namespace canopy::core {

// Maximum number of keys in a call, and of members or users in a directive. A
// larger number fails with kErrOutOfResource.
inline constexpr size_t kMaxKeysOfCall = 4096;

struct PublishDirectives {
  uint8_t range = static_cast<uint8_t>(DataRange::kSession);
  uint8_t persistence = static_cast<uint8_t>(Persistence::kApp);
  std::vector<ProcId> members;
  std::vector<uint32_t> uids;
  std::vector<uint32_t> gids;
  uint32_t timeout_ms = 0;  // 0: none
  bool waits = false;
  uint32_t wait_for = 0;  // number of keys that suffice; 0: all
};

struct PublishCall {
  PublishDirectives directives;
  // Keys with their VALUEs in codec form; the values share the caller's bytes.
  std::vector<std::pair<std::string, Bytes>> data;
  // Optional infos with reserved or unknown keys that these functions ignore.
  std::vector<std::string> ignored;
};

// The functions. A mask of them contains the functions for which a directive
// has a meaning.
enum class PublishFunction : uint8_t {
  kPublish = 1,
  kLookup = 2,
  kUnpublish = 4,
};

// Reads infos in codec form (SIZE n, then n INFO). For PMIx_Publish, an info
// that is not a directive is data unless its key is reserved. For PMIx_Lookup
// and PMIx_Unpublish, such an info counts as a directive that is not honoured,
// and an invalid range does not limit the search. Returns kErrNotSupported for
// a required directive that the function does not honour, and for the range of
// the resource manager; kErrBadParam for malformed infos and values, an invalid
// key, and a custom range without members; kErrOutOfResource for more than
// kMaxKeysOfCall infos, or elements of a directive.
int ReadCall(const Bytes& info, PublishFunction function, PublishCall* call);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_PUBLISH_PUBLISH_CALLS_H_
