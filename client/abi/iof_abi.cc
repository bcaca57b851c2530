// C entry points for forwarding output and input.

#include <cstddef>
#include <string_view>

#include "client/abi/with_session.h"
#include "client/session/directives.h"
#include "client/session/pull_op.h"
#include "client/session/push_op.h"
#include "common/support/ignored_directives.h"
#include "pmix_tool.h"

using canopy::client::BadUnless;
using canopy::client::InfoArray;
using canopy::client::PullRequest;
using canopy::client::PushRequest;
using canopy::client::Session;
using canopy::client::WithCallback;
using canopy::client::WithSession;

namespace {

pmix_status_t ArgumentsOf(const PullRequest& request) {
  return BadUnless(!request.procs.empty() && request.directives.ok());
}

// Refuses a required directive of `function` and reports any other, because the
// Standard defines no attributes for the function.
pmix_status_t CheckNone(std::string_view function, const InfoArray& infos) {
  if (!infos.ok()) return PMIX_ERR_BAD_PARAM;
  for (size_t i = 0; i < infos.size; ++i) {
    const pmix_status_t rc =
        canopy::support::NotHonoured(function, infos.infos[i]);
    if (rc != PMIX_SUCCESS) return rc;
  }
  return PMIX_SUCCESS;
}

}  // namespace

extern "C" {

pmix_status_t PMIx_IOF_pull(const pmix_proc_t procs[], size_t nprocs,
                            const pmix_info_t directives[], size_t ndirs,
                            pmix_iof_channel_t channel,
                            pmix_iof_cbfunc_t cbfunc,
                            pmix_hdlr_reg_cbfunc_t regcbfunc, void* regcbdata) {
  const PullRequest request{{procs, procs == nullptr ? 0 : nprocs},
                            {directives, ndirs},
                            channel,
                            cbfunc};
  if (regcbfunc == nullptr) {
    return WithSession([&](Session& session) {
      return canopy::client::PullOutput(session, request);
    });
  }
  return WithCallback(ArgumentsOf(request), regcbfunc, regcbdata,
                      [&](Session& session, pmix_hdlr_reg_cbfunc_t answer) {
                        return canopy::client::PullOutputAsync(
                            session, request, answer, regcbdata);
                      });
}

pmix_status_t PMIx_IOF_deregister(size_t iofhdlr,
                                  const pmix_info_t directives[], size_t ndirs,
                                  pmix_op_cbfunc_t cbfunc, void* cbdata) {
  const InfoArray infos{directives, ndirs};
  if (cbfunc == nullptr) {
    return WithSession([&](Session& session) {
      const pmix_status_t rc = CheckNone("PMIx_IOF_deregister", infos);
      return rc == PMIX_SUCCESS ? canopy::client::StopPulling(session, iofhdlr)
                                : rc;
    });
  }
  return WithCallback(CheckNone("PMIx_IOF_deregister", infos), cbfunc, cbdata,
                      [&](Session& session, pmix_op_cbfunc_t answer) {
                        return canopy::client::StopPullingAsync(
                            session, iofhdlr, answer, cbdata);
                      });
}

pmix_status_t PMIx_IOF_push(const pmix_proc_t targets[], size_t ntargets,
                            pmix_byte_object_t* bo,
                            const pmix_info_t directives[], size_t ndirs,
                            pmix_op_cbfunc_t cbfunc, void* cbdata) {
  const PushRequest request{
      {targets, targets == nullptr ? 0 : ntargets}, bo, {directives, ndirs}};
  if (cbfunc == nullptr) {
    return WithSession([&](Session& session) {
      return canopy::client::PushInput(session, request);
    });
  }
  return WithCallback(BadUnless(request.directives.ok()), cbfunc, cbdata,
                      [&](Session& session, pmix_op_cbfunc_t answer) {
                        return canopy::client::PushInputAsync(session, request,
                                                              answer, cbdata);
                      });
}

}  // extern "C"
