// Process groups.

#include <cstddef>

#include "client/abi/with_session.h"
#include "client/session/group_invite_op.h"
#include "client/session/group_op.h"
#include "pmix.h"

using canopy::client::GroupRequest;
using canopy::client::JoinRequest;
using canopy::client::Session;
using canopy::client::WithSession;
using canopy::client::WithSessionAsync;

extern "C" {

pmix_status_t PMIx_Group_construct(const char grp[], const pmix_proc_t procs[],
                                   size_t nprocs,
                                   const pmix_info_t directives[], size_t ndirs,
                                   pmix_info_t** results, size_t* nresults) {
  return WithSession([&](Session& session) {
    const GroupRequest request{grp, procs, nprocs, {directives, ndirs}};
    return canopy::client::ConstructGroup(session, request, results, nresults);
  });
}

pmix_status_t PMIx_Group_construct_nb(const char grp[],
                                      const pmix_proc_t procs[], size_t nprocs,
                                      const pmix_info_t info[], size_t ninfo,
                                      pmix_info_cbfunc_t cbfunc, void* cbdata) {
  return WithSessionAsync([&](Session& session) {
    const GroupRequest request{grp, procs, nprocs, {info, ninfo}};
    return canopy::client::ConstructGroupAsync(session, request, cbfunc,
                                               cbdata);
  });
}

pmix_status_t PMIx_Group_destruct(const char grp[], const pmix_info_t info[],
                                  size_t ninfo) {
  return WithSession([&](Session& session) {
    const GroupRequest request{grp, nullptr, 0, {info, ninfo}};
    return canopy::client::DestructGroup(session, request);
  });
}

pmix_status_t PMIx_Group_destruct_nb(const char grp[], const pmix_info_t info[],
                                     size_t ninfo, pmix_op_cbfunc_t cbfunc,
                                     void* cbdata) {
  return WithSessionAsync([&](Session& session) {
    const GroupRequest request{grp, nullptr, 0, {info, ninfo}};
    return canopy::client::DestructGroupAsync(session, request, cbfunc, cbdata);
  });
}

pmix_status_t PMIx_Group_leave(const char grp[], const pmix_info_t info[],
                               size_t ninfo) {
  return WithSession([&](Session& session) {
    const GroupRequest request{grp, nullptr, 0, {info, ninfo}};
    return canopy::client::LeaveGroup(session, request);
  });
}

pmix_status_t PMIx_Group_leave_nb(const char grp[], const pmix_info_t info[],
                                  size_t ninfo, pmix_op_cbfunc_t cbfunc,
                                  void* cbdata) {
  return WithSessionAsync([&](Session& session) {
    const GroupRequest request{grp, nullptr, 0, {info, ninfo}};
    return canopy::client::LeaveGroupAsync(session, request, cbfunc, cbdata);
  });
}

pmix_status_t PMIx_Group_invite(const char grp[], const pmix_proc_t procs[],
                                size_t nprocs, const pmix_info_t info[],
                                size_t ninfo, pmix_info_t** results,
                                size_t* nresult) {
  return WithSession([&](Session& session) {
    const GroupRequest request{grp, procs, nprocs, {info, ninfo}};
    return canopy::client::InviteGroup(session, request, results, nresult);
  });
}

pmix_status_t PMIx_Group_invite_nb(const char grp[], const pmix_proc_t procs[],
                                   size_t nprocs, const pmix_info_t info[],
                                   size_t ninfo, pmix_info_cbfunc_t cbfunc,
                                   void* cbdata) {
  return WithSessionAsync([&](Session& session) {
    const GroupRequest request{grp, procs, nprocs, {info, ninfo}};
    return canopy::client::InviteGroupAsync(session, request, cbfunc, cbdata);
  });
}

pmix_status_t PMIx_Group_join(const char grp[], const pmix_proc_t* leader,
                              pmix_group_opt_t opt, const pmix_info_t info[],
                              size_t ninfo, pmix_info_t** results,
                              size_t* nresult) {
  return WithSession([&](Session& session) {
    const JoinRequest request{grp, leader, opt, {info, ninfo}};
    return canopy::client::JoinGroup(session, request, results, nresult);
  });
}

pmix_status_t PMIx_Group_join_nb(const char grp[], const pmix_proc_t* leader,
                                 pmix_group_opt_t opt, const pmix_info_t info[],
                                 size_t ninfo, pmix_info_cbfunc_t cbfunc,
                                 void* cbdata) {
  return WithSessionAsync([&](Session& session) {
    const JoinRequest request{grp, leader, opt, {info, ninfo}};
    return canopy::client::JoinGroupAsync(session, request, cbfunc, cbdata);
  });
}

}  // extern "C"
