// Encodes the answer to the construction of a group for each version of
// OpenPMIx clients.
#ifndef CANOPY_SERVER_OPENPMIX_GROUP_REPLY_H_
#define CANOPY_SERVER_OPENPMIX_GROUP_REPLY_H_

#include <string_view>

#include "common/codec/encoder.h"
#include "server/openpmix/peer_traits.h"

namespace canopy::openpmix {

// Writes the part of the answer that follows the status. `results` are in
// Canopy's form, SIZE and INFOs: the members, a context id if it was requested,
// and the data that members share, which older clients cannot receive. Returns
// false, and leaves useless output, if `results` are malformed.
bool PackGroup(const PeerTraits& peer, std::string_view results, Encoder* out);

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_GROUP_REPLY_H_
