// C entry points: init and finalize, put and get, fence, abort, resolve.

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "client/abi/give_procs.h"
#include "client/abi/with_session.h"
#include "client/session/abort_op.h"
#include "client/session/directives.h"
#include "client/session/fence_op.h"
#include "client/session/get_op.h"
#include "client/session/lifecycle.h"
#include "client/session/put_op.h"
#include "client/session/resolve_op.h"
#include "client/session/version.h"
#include "common/ids.h"
#include "common/values/value.h"
#include "pmix.h"

using canopy::ProcId;
using canopy::client::ApiCall;
using canopy::client::GiveProcs;
using canopy::client::Session;
using canopy::client::WithCallback;
using canopy::client::WithSession;
using canopy::client::WithSessionAsync;

namespace {

// Reads a name; a null pointer stands for the empty name. Returns false if the
// name has more than `limit` characters.
bool ReadName(const char* name, size_t limit, std::string* out) {
  if (name == nullptr) return true;
  const size_t length = strnlen(name, limit + 1);
  if (length > limit) return false;
  out->assign(name, length);
  return true;
}

constexpr size_t kMaxNodeName = 1024;

}  // namespace

extern "C" {

pmix_status_t PMIx_Init(pmix_proc_t* proc, pmix_info_t info[], size_t ninfo) {
  return canopy::client::InitLibrary(proc, info, ninfo);
}

pmix_status_t PMIx_Finalize(const pmix_info_t info[], size_t ninfo) {
  return canopy::client::FinalizeLibrary(info, ninfo);
}

int PMIx_Initialized(void) {
  return canopy::client::LibraryInitialized() ? 1 : 0;
}

const char* PMIx_Get_version(void) { return canopy::client::kVersionText; }

void PMIx_Progress(void) {
  const ApiCall call;
  if (call) call.session().progress().RunPending();
}

void PMIx_Progress_thread_stop(const pmix_info_t* info, size_t ninfo) {
  canopy::client::StopProgress(info, ninfo);
}

pmix_status_t PMIx_Put(pmix_scope_t scope, const char key[],
                       pmix_value_t* val) {
  return WithSession([&](Session& session) {
    return canopy::client::PutValue(session, scope, key, val);
  });
}

pmix_status_t PMIx_Store_internal(const pmix_proc_t* proc, const char key[],
                                  pmix_value_t* val) {
  return WithSession([&](Session& session) {
    return canopy::client::StoreInternal(session, proc, key, val);
  });
}

pmix_status_t PMIx_Commit(void) {
  return WithSession(
      [](Session& session) { return canopy::client::CommitPuts(session); });
}

pmix_status_t PMIx_Get(const pmix_proc_t* proc, const char key[],
                       const pmix_info_t info[], size_t ninfo,
                       pmix_value_t** val) {
  return WithSession([&](Session& session) {
    return canopy::client::GetValue(session, proc, key, info, ninfo, val);
  });
}

pmix_status_t PMIx_Get_nb(const pmix_proc_t* proc, const char key[],
                          const pmix_info_t info[], size_t ninfo,
                          pmix_value_cbfunc_t cbfunc, void* cbdata) {
  return WithSessionAsync([&](Session& session) {
    return canopy::client::GetValueAsync(session, proc, key, info, ninfo,
                                         cbfunc, cbdata);
  });
}

pmix_status_t PMIx_Fence(const pmix_proc_t procs[], size_t nprocs,
                         const pmix_info_t info[], size_t ninfo) {
  return WithSession([&](Session& session) {
    return canopy::client::Fence(session, procs, nprocs, info, ninfo);
  });
}

// Blocks if there is no callback, as OpenPMIx has documented since 5.0.10.
pmix_status_t PMIx_Fence_nb(const pmix_proc_t procs[], size_t nprocs,
                            const pmix_info_t info[], size_t ninfo,
                            pmix_op_cbfunc_t cbfunc, void* cbdata) {
  if (cbfunc == nullptr) return PMIx_Fence(procs, nprocs, info, ninfo);
  const bool good = (procs != nullptr || nprocs == 0) &&
                    canopy::client::InfoArray{info, ninfo}.ok();
  return WithCallback(canopy::client::BadUnless(good), cbfunc, cbdata,
                      [&](Session& session, pmix_op_cbfunc_t answer) {
                        return canopy::client::FenceAsync(session, procs,
                                                          nprocs, info, ninfo,
                                                          answer, cbdata);
                      });
}

pmix_status_t PMIx_Abort(int status, const char msg[], pmix_proc_t procs[],
                         size_t nprocs) {
  return WithSession([&](Session& session) {
    return canopy::client::Abort(session, status, msg, procs, nprocs);
  });
}

pmix_status_t PMIx_Resolve_peers(const char* nodename,
                                 const pmix_nspace_t nspace,
                                 pmix_proc_t** procs, size_t* nprocs) {
  if (procs != nullptr) *procs = nullptr;
  if (nprocs != nullptr) *nprocs = 0;
  return WithSession([&](Session& session) -> pmix_status_t {
    std::string node;
    std::string name;
    if (procs == nullptr || nprocs == nullptr ||
        !ReadName(nodename, kMaxNodeName, &node) ||
        !ReadName(nspace, canopy::kMaxNspaceLen, &name)) {
      return PMIX_ERR_BAD_PARAM;
    }
    std::vector<ProcId> found;
    const int rc = canopy::client::ResolvePeers(session, node, name, &found);
    return rc == PMIX_SUCCESS ? GiveProcs(found, procs, nprocs) : rc;
  });
}

pmix_status_t PMIx_Resolve_nodes(const pmix_nspace_t nspace, char** nodelist) {
  if (nodelist != nullptr) *nodelist = nullptr;
  return WithSession([&](Session& session) -> pmix_status_t {
    std::string name;
    if (nodelist == nullptr ||
        !ReadName(nspace, canopy::kMaxNspaceLen, &name)) {
      return PMIX_ERR_BAD_PARAM;
    }
    std::string nodes;
    const int rc = canopy::client::ResolveNodes(session, name, &nodes);
    if (rc != PMIX_SUCCESS) return rc;
    *nodelist = canopy::DuplicateString(nodes);
    return *nodelist == nullptr ? PMIX_ERR_NOMEM : PMIX_SUCCESS;
  });
}

}  // extern "C"
