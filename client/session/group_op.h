// Process groups on a session: PMIx_Group_construct, PMIx_Group_destruct,
// PMIx_Group_leave and their non-blocking forms.
#ifndef CANOPY_CLIENT_SESSION_GROUP_OP_H_
#define CANOPY_CLIENT_SESSION_GROUP_OP_H_

#include <cstddef>
#include <string>
#include <vector>

#include "client/session/directives.h"
#include "client/session/group_invitations.h"
#include "client/session/session.h"
#include "common/ids.h"
#include "common/values/info_list.h"
#include "pmix.h"

namespace canopy::client {

// The caller owns the arrays and the name, which are not used after the call.
struct GroupRequest {
  const char* name = nullptr;  // at most PMIX_MAX_NSLEN characters
  const pmix_proc_t* procs = nullptr;
  size_t nprocs = 0;
  InfoArray directives;
};

// Waits for all of `procs`, which must include the caller. The caller frees the
// results, which exist with PMIX_SUCCESS and PMIX_ERR_PARTIAL_SUCCESS (some
// processes ended before they took part); either pointer may be null. Errors:
// PMIX_ERR_BAD_PARAM for wrong arguments, PMIX_ERR_EXISTS if one of `procs` is
// in a group of that name, PMIX_ERR_UNREACH if there is no agent.
int ConstructGroup(Session& session, const GroupRequest& request,
                   pmix_info_t** results, size_t* nresults);
// Waits for all members; `procs` are not used. Returns PMIX_ERR_NOT_FOUND if
// the caller is not in a group of that name, and PMIX_ERR_UNREACH if there is
// no agent.
int DestructGroup(Session& session, const GroupRequest& request);
// Notifies the other members by an event, which has been sent when the call
// returns.
int LeaveGroup(Session& session, const GroupRequest& request);

// Constructs a group for this library's own use: `done` runs as a callback.
int ConstructGroupThen(Session& session, const std::string& name,
                       const std::vector<ProcId>& members,
                       const InfoList& directives, GroupDone done);

// The non-blocking forms. They call `cbfunc` on the progress thread, unless
// they return an error. The arguments of `cbfunc` live until it returns.
int ConstructGroupAsync(Session& session, const GroupRequest& request,
                        pmix_info_cbfunc_t cbfunc, void* cbdata);
int DestructGroupAsync(Session& session, const GroupRequest& request,
                       pmix_op_cbfunc_t cbfunc, void* cbdata);
int LeaveGroupAsync(Session& session, const GroupRequest& request,
                    pmix_op_cbfunc_t cbfunc, void* cbdata);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_GROUP_OP_H_
