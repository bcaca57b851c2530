// What a PMI client has sent, cut into messages.
#ifndef CANOPY_SERVER_PMI_MESSAGE_H_
#define CANOPY_SERVER_PMI_MESSAGE_H_

#include <cstddef>
#include <string_view>

#include "server/pmi/pmi1_wire.h"
#include "server/pmi/pmi2_wire.h"
#include "server/pmi/request.h"

namespace canopy::pmi {

// So many bytes of a socket hold a whole message, or more than one may have.
inline constexpr size_t kMaxInSocket = kMaxMessage + kHeaderSize;
static_assert(kMaxInSocket > kMaxLine);

struct Message {
  std::string_view text;  // without the end of its line, or its header
  bool is_line = true;
  size_t size = 0;                // in the socket; 0: it has not come wholly
  size_t wanted = 0;              // bytes of it; 0: not known
  const char* problem = nullptr;  // it ends the connection
};

// The first of `data`, which a client of that version sent. One of version 2
// says that in a line of version 1, so it may send lines as well.
Message FirstMessage(bool is_pmi2, std::string_view data);

// What the message asks for.
Request RequestIn(const Message& message);

}  // namespace canopy::pmi

#endif  // CANOPY_SERVER_PMI_MESSAGE_H_
