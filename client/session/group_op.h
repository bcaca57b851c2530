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

// The arrays and the name are the caller's, and are not used after the call.
struct GroupRequest {
  const char* name = nullptr;  // at most PMIX_MAX_NSLEN characters
  const pmix_proc_t* procs = nullptr;
  size_t nprocs = 0;
  InfoArray directives;
};

// Waits for all of `procs`, of whom the caller must be one. The results, which
// the caller frees, come with PMIX_SUCCESS and PMIX_ERR_PARTIAL_SUCCESS (some
// ended before they took part); either pointer may be null.
// PMIX_ERR_BAD_PARAM for wrong arguments, PMIX_ERR_EXISTS when a caller is in a
// group of that name, PMIX_ERR_UNREACH without an agent.
int ConstructGroup(Session& session, const GroupRequest& request,
                   pmix_info_t** results, size_t* nresults);
// Waits for all members; `procs` are not used. PMIX_ERR_NOT_FOUND when the
// caller is in no such group.
int DestructGroup(Session& session, const GroupRequest& request);
// The other members are told so by an event, which is on its way when this
// returns.
int LeaveGroup(Session& session, const GroupRequest& request);

// For this library's own use: `done` runs as a callback.
int ConstructGroupThen(Session& session, const std::string& name,
                       const std::vector<ProcId>& members,
                       const InfoList& directives, GroupDone done);

// `cbfunc` runs on the progress thread unless an error is returned. What it is
// given lives until it returns.
int ConstructGroupAsync(Session& session, const GroupRequest& request,
                        pmix_info_cbfunc_t cbfunc, void* cbdata);
int DestructGroupAsync(Session& session, const GroupRequest& request,
                       pmix_op_cbfunc_t cbfunc, void* cbdata);
int LeaveGroupAsync(Session& session, const GroupRequest& request,
                    pmix_op_cbfunc_t cbfunc, void* cbdata);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_GROUP_OP_H_
