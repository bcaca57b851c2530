// The numbers by which the core identifies connected local processes and their
// requests.
#ifndef CANOPY_SERVER_CORE_STEP_CLIENT_ID_H_
#define CANOPY_SERVER_CORE_STEP_CLIENT_ID_H_

#include <cstdint>

namespace canopy::core {

// Identifies one connection of a local process. The adapter that holds the
// connection assigns the number; its top 8 bits identify the adapter (see
// server/ports/client_port.h).
using ClientId = uint64_t;
// Number that a client has given to a request that needs a reply.
using RequestId = uint64_t;

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_CLIENT_ID_H_
