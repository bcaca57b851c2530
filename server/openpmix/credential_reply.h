// The answer to PMIx_Get_credential, as peers read it.
#ifndef CANOPY_SERVER_OPENPMIX_CREDENTIAL_REPLY_H_
#define CANOPY_SERVER_OPENPMIX_CREDENTIAL_REPLY_H_

#include <string_view>

#include "common/codec/encoder.h"
#include "server/openpmix/peer_traits.h"

namespace canopy::openpmix {

// What follows the status: a BYTE_OBJECT, then the other results. `results` are
// in our form, SIZE and INFOs, with the credential as PMIX_CREDENTIAL among
// them. False when they are malformed, or have none (what was written is of no
// use).
bool PackCredential(const PeerTraits& peer, std::string_view results,
                    Encoder* out);

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_CREDENTIAL_REPLY_H_
