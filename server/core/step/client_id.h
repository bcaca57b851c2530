// How the core names local processes that are connected, and their requests.
#ifndef CANOPY_SERVER_CORE_STEP_CLIENT_ID_H_
#define CANOPY_SERVER_CORE_STEP_CLIENT_ID_H_

#include <cstdint>

namespace canopy::core {

// One connection of a local process, numbered by the adapter that holds it:
// the top 8 bits name the adapter (see server/ports/client_port.h).
using ClientId = uint64_t;
// A client's own number for a request that wants an answer.
using RequestId = uint64_t;

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_CLIENT_ID_H_
