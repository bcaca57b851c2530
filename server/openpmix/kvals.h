// Converts keys with values between an OpenPMIx client's form and Canopy's.
// Canopy's are KVAL elements of the modern form, concatenated; a client's are
// pack calls of one KVAL each, in the client's form. Where both forms agree,
// bytes are forwarded unchanged.
#ifndef CANOPY_SERVER_OPENPMIX_KVALS_H_
#define CANOPY_SERVER_OPENPMIX_KVALS_H_

#include <string>
#include <string_view>

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/values/info_list.h"
#include "server/openpmix/peer_traits.h"

namespace canopy::openpmix {

// Reads KVAL calls up to the end of `in` and appends them in Canopy's form.
// Compressed strings are decompressed, because many clients cannot read them.
// Returns a PMIx status: kErrUnpackFailure or a similar error for malformed
// data, and kErrUnknownDataType for a value that cannot be stored.
int ReadKvals(Decoder* in, std::string* out);

// Converts one VALUE of Canopy's form, type first. Returns an empty string if
// the client cannot read it.
std::string ValueFor(const PeerTraits& peer, std::string_view value);

// Append calls for the KVALs that the client can read, and omit the others.
void PackKvals(const PeerTraits& peer, std::string_view kvals, Encoder* out);
void PackKval(const PeerTraits& peer, std::string_view key,
              std::string_view value, Encoder* out);

// Writes a SIZE and, unless it is 0, one call with that many INFOs. `infos` are
// in Canopy's form, SIZE and elements. Returns false, and writes nothing, if
// they are malformed.
bool PackInfos(const PeerTraits& peer, std::string_view infos, Encoder* out);

// Like PackInfos, for PDATAs: the result of a lookup.
bool PackFound(const PeerTraits& peer, std::string_view found, Encoder* out);

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_KVALS_H_
