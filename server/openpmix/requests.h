// Parses every command of OpenPMIx's protocol into plain values. Pure: it uses
// no sockets and has no state.
#ifndef CANOPY_SERVER_OPENPMIX_REQUESTS_H_
#define CANOPY_SERVER_OPENPMIX_REQUESTS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/status.h"
#include "server/openpmix/request.h"

namespace canopy::openpmix {

// Parses the request in one message. `tag` becomes the core's request number.
// kErrUnpackFailure: the message is malformed, and the connection should end.
// An unknown command or data type, and a required directive without an effect,
// result in a RefusedRequest. Adds the other directives without an effect to
// `ignored` if it is not null.
Result<Request> ParseRequest(const Requester& requester, uint32_t tag,
                             std::string_view payload,
                             std::vector<IgnoredDirective>* ignored = nullptr);

// Returns the limit for the payload of a message that begins with `begin`,
// which may be only a part of the message.
uint32_t MaxPayloadOf(const PeerTraits& traits, std::string_view begin);

// Returns the name of a command for logs and messages; "?" for an unknown
// command.
std::string_view CommandName(uint8_t command);

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_REQUESTS_H_
