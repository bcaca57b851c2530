// Divides the data of a PMI client into messages.
#ifndef CANOPY_SERVER_PMI_MESSAGE_H_
#define CANOPY_SERVER_PMI_MESSAGE_H_

#include <cstddef>
#include <string_view>

#include "server/pmi/pmi1_wire.h"
#include "server/pmi/pmi2_wire.h"
#include "server/pmi/request.h"

namespace canopy::pmi {

// If a socket contains this many bytes, its client has sent a complete message
// or exceeded the limit.
inline constexpr size_t kMaxInSocket = kMaxMessage + kHeaderSize;
static_assert(kMaxInSocket > kMaxLine);

struct Message {
  std::string_view text;  // without the end of its line, or its header
  bool is_line = true;
  size_t size = 0;                // size in the socket; 0: incomplete
  size_t wanted = 0;              // size of the message in bytes; 0: unknown
  const char* problem = nullptr;  // reason to end the connection
};

// Returns the first message in `data`. `is_pmi2` is true for a client that has
// selected version 2. It does so by a line of version 1, so a PMI-2 client may
// send lines too.
Message FirstMessage(bool is_pmi2, std::string_view data);

// Returns the request in a message.
Request RequestIn(const Message& message);

}  // namespace canopy::pmi

#endif  // CANOPY_SERVER_PMI_MESSAGE_H_
