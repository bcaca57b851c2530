// What peers ask for: every command of OpenPMIx's protocol, read into plain
// values. Pure: no socket, no state.
#ifndef CANOPY_SERVER_OPENPMIX_REQUESTS_H_
#define CANOPY_SERVER_OPENPMIX_REQUESTS_H_

#include <cstdint>
#include <string_view>

#include "common/status.h"
#include "server/openpmix/request.h"

namespace canopy::openpmix {

// The request in one message. `tag` becomes the core's request number. Fails
// only for what is malformed; then the connection should end. A command or
// data type that is not known is a RefusedRequest.
Result<Request> ParseRequest(const Requester& requester, uint32_t tag,
                             std::string_view payload);

// Name of a command, for logs and messages; "?" when there is none.
std::string_view CommandName(uint8_t command);

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_REQUESTS_H_
