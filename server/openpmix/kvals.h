// Keys with their values between a peer's form and ours. Ours are KVAL
// elements of the modern form, back to back; a peer's are pack calls of one
// KVAL each, in the form that it speaks. Where the two agree, bytes are passed
// on as they came.
#ifndef CANOPY_SERVER_OPENPMIX_KVALS_H_
#define CANOPY_SERVER_OPENPMIX_KVALS_H_

#include <string>
#include <string_view>

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/values/info_list.h"
#include "server/openpmix/peer_traits.h"

namespace canopy::openpmix {

// Reads KVAL calls up to the end of `in` and appends them in our form.
// Compressed strings become plain ones, since many peers can not read those.
// Returns a PMIx status: kErrUnpackFailure and its like when malformed,
// kErrUnknownDataType for a value that can not be stored.
int ReadKvals(Decoder* in, std::string* out);

// One VALUE of ours, type first, for the peer; empty when the peer cannot read
// it.
std::string ValueFor(const PeerTraits& peer, std::string_view value);

// Appends calls for the KVALs that the peer can read; others are left out.
void PackKvals(const PeerTraits& peer, std::string_view kvals, Encoder* out);
void PackKval(const PeerTraits& peer, std::string_view key,
              std::string_view value, Encoder* out);

// A SIZE and, unless it is 0, one call of so many INFOs. `infos` are in our
// form, SIZE and elements; false when they are malformed (nothing is written).
bool PackInfos(const PeerTraits& peer, std::string_view infos, Encoder* out);

// The same for PDATAs: what was published.
bool PackFound(const PeerTraits& peer, std::string_view found, Encoder* out);

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_KVALS_H_
