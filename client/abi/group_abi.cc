// C entry points for process groups.

#include <cstddef>

#include "client/abi/with_session.h"
#include "client/session/directives.h"
#include "client/session/group_bootstrap_op.h"
#include "client/session/group_invite_op.h"
#include "client/session/group_op.h"
#include "pmix.h"

using canopy::client::BadUnless;
using canopy::client::GroupRequest;
using canopy::client::JoinRequest;
using canopy::client::Session;
using canopy::client::WithCallback;
using canopy::client::WithSession;

namespace {

// Checks the arguments. Every call needs the name of a group. An invitation
// also needs the processes to invite. A construct needs its members, unless
// other processes add the caller.
pmix_status_t ArgumentsOf(const GroupRequest& request) {
  return BadUnless(request.name != nullptr && request.directives.ok());
}

pmix_status_t ArgumentsWithProcs(const GroupRequest& request) {
  const bool has_procs = request.procs != nullptr && request.nprocs > 0;
  return has_procs ? ArgumentsOf(request) : PMIX_ERR_BAD_PARAM;
}

pmix_status_t ArgumentsOfConstruct(const GroupRequest& request) {
  const bool is_added = request.procs == nullptr && request.nprocs == 0;
  return is_added ? ArgumentsOf(request) : ArgumentsWithProcs(request);
}

using Make = int (*)(Session&, const GroupRequest&, pmix_info_cbfunc_t, void*);
using End = int (*)(Session&, const GroupRequest&, pmix_op_cbfunc_t, void*);

int Construct(Session& session, const GroupRequest& request,
              pmix_info_cbfunc_t cbfunc, void* cbdata) {
  return canopy::client::IsBootstrap(session, request)
             ? BootstrapGroupAsync(session, request, cbfunc, cbdata)
             : ConstructGroupAsync(session, request, cbfunc, cbdata);
}

pmix_status_t StartMaking(pmix_status_t arguments, const GroupRequest& request,
                          pmix_info_cbfunc_t cbfunc, void* cbdata, Make make) {
  return WithCallback(arguments, cbfunc, cbdata,
                      [&](Session& session, pmix_info_cbfunc_t answer) {
                        return make(session, request, answer, cbdata);
                      });
}

pmix_status_t StartEnding(const GroupRequest& request, pmix_op_cbfunc_t cbfunc,
                          void* cbdata, End end) {
  return WithCallback(ArgumentsOf(request), cbfunc, cbdata,
                      [&](Session& session, pmix_op_cbfunc_t answer) {
                        return end(session, request, answer, cbdata);
                      });
}

}  // namespace

extern "C" {

pmix_status_t PMIx_Group_construct(const char grp[], const pmix_proc_t procs[],
                                   size_t nprocs,
                                   const pmix_info_t directives[], size_t ndirs,
                                   pmix_info_t** results, size_t* nresults) {
  return WithSession([&](Session& session) {
    const GroupRequest request{grp, procs, nprocs, {directives, ndirs}};
    return canopy::client::IsBootstrap(session, request)
               ? BootstrapGroup(session, request, results, nresults)
               : ConstructGroup(session, request, results, nresults);
  });
}

pmix_status_t PMIx_Group_construct_nb(const char grp[],
                                      const pmix_proc_t procs[], size_t nprocs,
                                      const pmix_info_t info[], size_t ninfo,
                                      pmix_info_cbfunc_t cbfunc, void* cbdata) {
  const GroupRequest request{grp, procs, nprocs, {info, ninfo}};
  return StartMaking(ArgumentsOfConstruct(request), request, cbfunc, cbdata,
                     Construct);
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
  return StartEnding({grp, nullptr, 0, {info, ninfo}}, cbfunc, cbdata,
                     canopy::client::DestructGroupAsync);
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
  return StartEnding({grp, nullptr, 0, {info, ninfo}}, cbfunc, cbdata,
                     canopy::client::LeaveGroupAsync);
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
  const GroupRequest request{grp, procs, nprocs, {info, ninfo}};
  return StartMaking(ArgumentsWithProcs(request), request, cbfunc, cbdata,
                     canopy::client::InviteGroupAsync);
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
  const JoinRequest request{grp, leader, opt, {info, ninfo}};
  const bool good = grp != nullptr && request.directives.ok();
  return WithCallback(BadUnless(good), cbfunc, cbdata,
                      [&](Session& session, pmix_info_cbfunc_t answer) {
                        return canopy::client::JoinGroupAsync(session, request,
                                                              answer, cbdata);
                      });
}

}  // extern "C"
