// Groups by invitation: PMIx_Group_invite, PMIx_Group_join and their
// non-blocking forms. The libraries agree by events, which agents keep and pass
// on; the group itself is then made as by PMIx_Group_construct, by all who
// have accepted.
#ifndef CANOPY_CLIENT_SESSION_GROUP_INVITE_OP_H_
#define CANOPY_CLIENT_SESSION_GROUP_INVITE_OP_H_

#include <cstddef>

#include "client/session/group_op.h"
#include "client/session/session.h"
#include "pmix.h"

namespace canopy::client {

// When the session begins: it follows what becomes of invitations, also before
// it answers.
void ObserveInvitations(Session& session);

// Invites `procs`, of whom the caller need not be one, and ends when all have
// answered. Without PMIX_GROUP_OPTIONAL or PMIX_GROUP_FT_COLLECTIVE, whoever
// declines or ends makes it end with PMIX_GROUP_CONSTRUCT_ABORT; a handler of
// the event may decide otherwise by its results: PMIX_GROUP_OPTIONAL (true) to
// go on, PMIX_GROUP_ADD_MEMBERS (processes) to invite others instead; the
// status PMIX_GROUP_CONSTRUCT_ABORT to end it anyhow. PMIX_ERR_EXISTS while the
// caller is in a group of that name, or forms one. Results as of a construct.
int InviteGroupAsync(Session& session, const GroupRequest& request,
                     pmix_info_cbfunc_t cbfunc, void* cbdata);
// Not in a callback: PMIX_ERR_INVALID_OPERATION.
int InviteGroup(Session& session, const GroupRequest& request,
                pmix_info_t** results, size_t* nresults);

struct JoinRequest {
  const char* name = nullptr;
  const pmix_proc_t* leader = nullptr;  // null: who has invited the caller
  pmix_group_opt_t answer = PMIX_GROUP_DECLINE;
  InfoArray directives;
};

// An accepted invitation ends with the group's construction, or with
// PMIX_GROUP_CONSTRUCT_ABORT; one that is declined at once.
int JoinGroupAsync(Session& session, const JoinRequest& request,
                   pmix_info_cbfunc_t cbfunc, void* cbdata);
int JoinGroup(Session& session, const JoinRequest& request,
              pmix_info_t** results, size_t* nresults);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_GROUP_INVITE_OP_H_
