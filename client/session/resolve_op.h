// PMIx_Resolve_peers and PMIx_Resolve_nodes on a session.
#ifndef CANOPY_CLIENT_SESSION_RESOLVE_OP_H_
#define CANOPY_CLIENT_SESSION_RESOLVE_OP_H_

#include <cstddef>
#include <string>
#include <vector>

#include "client/session/session.h"
#include "pmix.h"

namespace canopy::client {

// Finds the processes of a namespace on a node; an empty `nspace` means all
// namespaces that the agent shows to this user, an empty `node` this node.
// Returns a PMIx status: PMIX_ERR_NOT_FOUND for an unknown namespace. A node
// without such processes gives an empty list.
int ResolvePeers(Session& session, const std::string& node,
                 const std::string& nspace, std::vector<ProcId>* procs);

// Finds the nodes that host a namespace, or any namespace if `nspace` is empty.
// Their names are separated by commas.
int ResolveNodes(Session& session, const std::string& nspace,
                 std::string* nodes);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_RESOLVE_OP_H_
