// Encodes the answer to PMIx_Get_credential for OpenPMIx clients.
#ifndef CANOPY_SERVER_OPENPMIX_CREDENTIAL_REPLY_H_
#define CANOPY_SERVER_OPENPMIX_CREDENTIAL_REPLY_H_

#include <string_view>

#include "common/codec/encoder.h"
#include "server/openpmix/peer_traits.h"

namespace canopy::openpmix {

// Writes the part of the answer that follows the status: a BYTE_OBJECT, then
// the other results. `results` are in Canopy's form, SIZE and INFOs, with the
// credential as PMIX_CREDENTIAL among them. Returns false, and leaves useless
// output, if they are malformed or have no credential.
bool PackCredential(const PeerTraits& peer, std::string_view results,
                    Encoder* out);

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_CREDENTIAL_REPLY_H_
