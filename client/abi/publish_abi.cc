// C entry points for publishing data and looking it up.

#include <cstddef>

#include "client/abi/callback.h"
#include "client/abi/with_session.h"
#include "client/session/publish_op.h"
#include "pmix.h"

using canopy::client::OrIgnore;
using canopy::client::Session;
using canopy::client::WithSession;
using canopy::client::WithSessionAsync;

extern "C" {

pmix_status_t PMIx_Publish(const pmix_info_t info[], size_t ninfo) {
  return WithSession([&](Session& session) {
    return canopy::client::PublishData(session, {info, ninfo});
  });
}

pmix_status_t PMIx_Publish_nb(const pmix_info_t info[], size_t ninfo,
                              pmix_op_cbfunc_t cbfunc, void* cbdata) {
  return WithSessionAsync([&](Session& session) {
    return canopy::client::PublishDataAsync(session, {info, ninfo},
                                            OrIgnore(cbfunc), cbdata);
  });
}

pmix_status_t PMIx_Lookup(pmix_pdata_t data[], size_t ndata,
                          const pmix_info_t info[], size_t ninfo) {
  return WithSession([&](Session& session) -> pmix_status_t {
    if (data == nullptr) return PMIX_ERR_BAD_PARAM;
    return canopy::client::LookUpData(session, {data, ndata}, {info, ninfo});
  });
}

pmix_status_t PMIx_Lookup_nb(char** keys, const pmix_info_t info[],
                             size_t ninfo, pmix_lookup_cbfunc_t cbfunc,
                             void* cbdata) {
  return WithSessionAsync([&](Session& session) {
    return canopy::client::LookUpDataAsync(session, keys, {info, ninfo},
                                           OrIgnore(cbfunc), cbdata);
  });
}

pmix_status_t PMIx_Unpublish(char** keys, const pmix_info_t info[],
                             size_t ninfo) {
  return WithSession([&](Session& session) {
    return canopy::client::UnpublishData(session, keys, {info, ninfo});
  });
}

pmix_status_t PMIx_Unpublish_nb(char** keys, const pmix_info_t info[],
                                size_t ninfo, pmix_op_cbfunc_t cbfunc,
                                void* cbdata) {
  return WithSessionAsync([&](Session& session) {
    return canopy::client::UnpublishDataAsync(session, keys, {info, ninfo},
                                              OrIgnore(cbfunc), cbdata);
  });
}

}  // extern "C"
