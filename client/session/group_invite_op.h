// Groups by invitation: PMIx_Group_invite, PMIx_Group_join and their
// non-blocking forms. The libraries agree by events, which agents keep and
// forward. Then all processes that have accepted construct the group as
// PMIx_Group_construct does.
#ifndef CANOPY_CLIENT_SESSION_GROUP_INVITE_OP_H_
#define CANOPY_CLIENT_SESSION_GROUP_INVITE_OP_H_

#include <cstddef>

#include "client/session/group_op.h"
#include "client/session/session.h"
#include "pmix.h"

namespace canopy::client {

// Called when the session begins, because the process follows the progress of
// invitations even before it answers them.
void ObserveInvitations(Session& session);

// Invites `procs`, and ends when all have answered and the group is made. The
// caller is a member only if `procs` include it. Without PMIX_GROUP_OPTIONAL or
// PMIX_GROUP_FT_COLLECTIVE, a process that declines or ends makes the call end
// with PMIX_GROUP_CONSTRUCT_ABORT. A handler of that process's event may decide
// otherwise by its results: with PMIX_GROUP_OPTIONAL (true) the call continues,
// PMIX_GROUP_ADD_MEMBERS (processes) invites others instead, and the status
// PMIX_GROUP_CONSTRUCT_ABORT ends the call in any case. Other errors:
// PMIX_ERR_EXISTS while the caller is in a group of that name or forms one;
// PMIX_ERR_BAD_PARAM for wrong arguments; PMIX_ERR_UNREACH if there is no
// agent; PMIX_ERR_TIMEOUT. The results are as for a construct.
int InviteGroupAsync(Session& session, const GroupRequest& request,
                     pmix_info_cbfunc_t cbfunc, void* cbdata);
// Like InviteGroupAsync, but blocks. Also returns PMIX_ERR_INVALID_OPERATION in
// a callback.
int InviteGroup(Session& session, const GroupRequest& request,
                pmix_info_t** results, size_t* nresults);

struct JoinRequest {
  const char* name = nullptr;
  const pmix_proc_t* leader = nullptr;  // null: the sender
  pmix_group_opt_t answer = PMIX_GROUP_DECLINE;
  InfoArray directives;
};

// Answer an invitation. After an acceptance the call ends with the group's
// construction or with PMIX_GROUP_CONSTRUCT_ABORT; after a refusal it ends at
// once.
int JoinGroupAsync(Session& session, const JoinRequest& request,
                   pmix_info_cbfunc_t cbfunc, void* cbdata);
int JoinGroup(Session& session, const JoinRequest& request,
              pmix_info_t** results, size_t* nresults);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_GROUP_INVITE_OP_H_
