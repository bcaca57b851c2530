// PMIx_Resolve_peers and PMIx_Resolve_nodes on a session.
#ifndef CANOPY_CLIENT_SESSION_RESOLVE_OP_H_
#define CANOPY_CLIENT_SESSION_RESOLVE_OP_H_

#include <cstddef>
#include <string>
#include <vector>

#include "client/session/session.h"
#include "pmix.h"

namespace canopy::client {

// The processes of a namespace (empty: of every one that the agent tells this
// user of) on a node (empty: this one). Returns a PMIX status: PMIX_ERR_NOT_FOUND for a namespace that
// nobody knows; a node without such processes gives none.
int ResolvePeers(Session& session, const std::string& node,
                 const std::string& nspace, std::vector<ProcId>* procs);

// Names of the nodes that host a namespace (empty: any of these), separated
// by commas.
int ResolveNodes(Session& session, const std::string& nspace,
                 std::string* nodes);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_RESOLVE_OP_H_
