// The scopes of what one process commits. Its library knows two: a put with
// PMIX_GLOBAL comes once with PMIX_LOCAL and once with PMIX_REMOTE.
#ifndef CANOPY_SERVER_OPENPMIX_PEER_SCOPES_H_
#define CANOPY_SERVER_OPENPMIX_PEER_SCOPES_H_

#include <set>
#include <string>
#include <vector>

#include "server/core/step/client_inputs.h"

namespace canopy::openpmix {

class PeerScopes {
 public:
  // Replaces one commit by what our own library sends for the same puts: what
  // is equal in both scopes was put with PMIX_GLOBAL, and names of
  // common/codec/stored_key.h tell the scopes of the rest. Malformed data stay
  // as they are.
  void Translate(std::vector<core::ScopedData>* data);

 private:
  std::set<std::string> local_;   // keys that were put for their node alone
  std::set<std::string> remote_;  // and those for other nodes alone
};

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_PEER_SCOPES_H_
