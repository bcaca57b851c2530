// PMIx_Group_construct when no process knows all members (PMIX_GROUP_BOOTSTRAP
// and PMIX_GROUP_ADD_MEMBERS): each leader knows the number of leaders and the
// members that it adds, and these members know nothing but the name. PMIx
// Standard, chapter "Process Sets and Groups".
//
// The leaders meet at published keys. The leader that publishes the first key
// reads the keys of the others and invites all members (group_leader.h).
#ifndef CANOPY_CLIENT_SESSION_GROUP_BOOTSTRAP_OP_H_
#define CANOPY_CLIENT_SESSION_GROUP_BOOTSTRAP_OP_H_

#include <cstddef>

#include "client/session/group_op.h"
#include "client/session/session.h"
#include "pmix.h"

namespace canopy::client {

inline constexpr size_t kMaxLeaders = 256;

// Returns true if the caller is a leader, or a member that leaders add; such a
// member names no processes. A call that adds members to a group whose other
// processes do not know of them is not a bootstrap; the agents refuse it.
bool IsBootstrap(const Session& session, const GroupRequest& request);

// Constructs the group as PMIx_Group_invite does. The call ends when all
// leaders and all members that they add have called, with the results of a
// construct. If one of these processes ends before that, but after the leaders
// have met, the call ends with PMIX_GROUP_CONSTRUCT_ABORT. Other errors:
// PMIX_ERR_BAD_PARAM, also if the leaders do not agree on their number;
// PMIX_ERR_EXISTS if the caller forms a group of that name already, or if there
// are more leaders than announced; PMIX_ERR_OUT_OF_RESOURCE for more than
// kMaxLeaders leaders or kMaxInvited members; PMIX_ERR_TIMEOUT;
// PMIX_ERR_UNREACH if there is no agent.
int BootstrapGroupAsync(Session& session, const GroupRequest& request,
                        pmix_info_cbfunc_t cbfunc, void* cbdata);
// Like BootstrapGroupAsync, but blocks. The caller frees the results; either
// pointer may be null. Also returns PMIX_ERR_INVALID_OPERATION in a callback.
int BootstrapGroup(Session& session, const GroupRequest& request,
                   pmix_info_t** results, size_t* nresults);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_GROUP_BOOTSTRAP_OP_H_
