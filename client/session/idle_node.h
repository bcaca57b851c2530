// Nodes of the session on which a job has no process (PMIX_NODE_INFO, PMIx
// Standard, chapter "Reserved Keys"). The job's segment has no entries for
// them; their data is derived from the session's list of nodes.
#ifndef CANOPY_CLIENT_SESSION_IDLE_NODE_H_
#define CANOPY_CLIENT_SESSION_IDLE_NODE_H_

#include <string_view>

#include "client/session/get_options.h"
#include "client/session/job_view.h"
#include "pmix.h"

namespace canopy::client {

// Looks for `key` of the node that PMIX_HOSTNAME or PMIX_NODEID of `options`
// names. The keys are PMIX_HOSTNAME, PMIX_NODEID, and PMIX_LOCAL_SIZE, which is
// 0. Returns PMIX_SUCCESS with a value that the caller releases. Returns
// PMIX_ERR_NOT_FOUND for other keys, for a node of the job, for an unknown
// node, and if the positions of nodes in the session's list are not their
// numbers, as with some hosts in C.
int FindIdleNode(const JobView& job, std::string_view key,
                 const GetOptions& options, pmix_value_t* value);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_IDLE_NODE_H_
