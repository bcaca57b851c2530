// The agent's answer to a request.
#ifndef CANOPY_COMMON_LOCAL_REPLY_H_
#define CANOPY_COMMON_LOCAL_REPLY_H_

#include <cstdint>
#include <string_view>

#include "common/describe.h"

namespace canopy::local {

inline constexpr uint32_t kReplyPayload = 2;  // number of the field

// kReply, with the tag of the request.
struct Reply {
  int status = 0;            // a PMIx status
  std::string_view payload;  // the frame type of the request defines its form
};

template <typename V>
void Describe(V& v, wire::Is<Reply> auto& m) {
  v.Field(1, m.status);
  // The last field: an agent sends long payloads apart from the rest.
  v.Field(kReplyPayload, m.payload);
}

}  // namespace canopy::local

#endif  // CANOPY_COMMON_LOCAL_REPLY_H_
