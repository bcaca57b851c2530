// C entry points for spawning jobs.

#include <cstddef>

#include "client/abi/callback.h"
#include "client/abi/with_session.h"
#include "client/session/spawn_op.h"
#include "client/tool/fork_launcher.h"
#include "pmix.h"

using canopy::client::OrIgnore;
using canopy::client::Session;
using canopy::client::SpawnRequest;
using canopy::client::WithSession;
using canopy::client::WithSessionAsync;

namespace {

// Returns the request. A null array has no applications, for any `napps`.
SpawnRequest RequestOf(const pmix_info_t* infos, size_t ninfo,
                       const pmix_app_t* apps, size_t napps) {
  SpawnRequest request;
  request.directives = {infos, ninfo};
  if (apps != nullptr) request.apps = {apps, napps};
  return request;
}

}  // namespace

extern "C" {

pmix_status_t PMIx_Spawn(const pmix_info_t job_info[], size_t ninfo,
                         const pmix_app_t apps[], size_t napps,
                         pmix_nspace_t nspace) {
  return WithSession([&](Session& session) {
    const SpawnRequest request = RequestOf(job_info, ninfo, apps, napps);
    if (!canopy::client::MustForkLauncher(session)) {
      return canopy::client::SpawnJob(session, request, nspace);
    }
    pmix_nspace_t unwanted;
    return canopy::client::ForkLauncher(session, request,
                                        nspace == nullptr ? unwanted : nspace);
  });
}

pmix_status_t PMIx_Spawn_nb(const pmix_info_t job_info[], size_t ninfo,
                            const pmix_app_t apps[], size_t napps,
                            pmix_spawn_cbfunc_t cbfunc, void* cbdata) {
  return WithSessionAsync([&](Session& session) {
    return canopy::client::SpawnJobAsync(
        session, RequestOf(job_info, ninfo, apps, napps), OrIgnore(cbfunc),
        cbdata);
  });
}

}  // extern "C"
