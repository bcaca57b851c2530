// The answer to the construction of a group, as each version of peers reads it.
#ifndef CANOPY_SERVER_OPENPMIX_GROUP_REPLY_H_
#define CANOPY_SERVER_OPENPMIX_GROUP_REPLY_H_

#include <string_view>

#include "common/codec/encoder.h"
#include "server/openpmix/peer_traits.h"

namespace canopy::openpmix {

// What follows the status. `results` are in our form, SIZE and INFOs: the
// members, a context id if one was asked for, and what members share, which
// older peers have no place for. False when they are malformed (what was
// written is of no use).
bool PackGroup(const PeerTraits& peer, std::string_view results, Encoder* out);

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_GROUP_REPLY_H_
