// What PMIx_Publish, PMIx_Lookup and PMIx_Unpublish are called with: data and
// directives share one array of infos.
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

// Keys of one call, and members or users that one directive lists; more are
// refused (kErrOutOfResource).
inline constexpr size_t kMaxKeysOfCall = 4096;

struct PublishDirectives {
  uint8_t range = static_cast<uint8_t>(DataRange::kSession);
  uint8_t persistence = static_cast<uint8_t>(Persistence::kApp);
  std::vector<ProcId> members;
  std::vector<uint32_t> uids;
  std::vector<uint32_t> gids;
  uint32_t timeout_ms = 0;  // 0: none
  bool waits = false;
  uint32_t wait_for = 0;  // so many keys; 0: all
};

struct PublishCall {
  PublishDirectives directives;
  // Keys with their VALUEs in codec form, which share the caller's bytes.
  std::vector<std::pair<std::string, Bytes>> data;
  // Reserved keys that are no directives of these functions, and not required.
  std::vector<std::string> ignored;
};

// Reads infos in codec form (SIZE n, then n INFO). `has_data`: what is no
// directive is data, as in PMIx_Publish; otherwise it is a directive that
// nobody knows, and a range that is none limits nothing. kErrNotSupported for a required one, and for the range of the
// resource manager; kErrBadParam for what is malformed or no value of its
// directive; kErrOutOfResource for more than kMaxKeysOfCall keys.
int ReadCall(const Bytes& info, bool has_data, PublishCall* call);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_PUBLISH_PUBLISH_CALLS_H_
