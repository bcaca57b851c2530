// The scopes of a process's commits. OpenPMIx's library has only two: a put
// with PMIX_GLOBAL arrives once with PMIX_LOCAL and once with PMIX_REMOTE.
#ifndef CANOPY_SERVER_OPENPMIX_PEER_SCOPES_H_
#define CANOPY_SERVER_OPENPMIX_PEER_SCOPES_H_

#include <set>
#include <string>
#include <vector>

#include "server/core/step/client_inputs.h"

namespace canopy::openpmix {

class PeerScopes {
 public:
  // Replaces one commit by the data that Canopy's library sends for the same
  // puts: data that is equal in both scopes was put with PMIX_GLOBAL, and names
  // of common/codec/stored_key.h encode the scopes of the rest. Malformed data
  // is left unchanged.
  void Translate(std::vector<core::ScopedData>* data);

 private:
  std::set<std::string> local_;   // keys that were put only for their own node
  std::set<std::string> remote_;  // keys that were put only for other nodes
};

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_PEER_SCOPES_H_
