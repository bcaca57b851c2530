// C entry points for credentials of processes.

#include <cstddef>

#include "client/abi/callback.h"
#include "client/abi/with_session.h"
#include "client/session/credential_op.h"
#include "pmix.h"

using canopy::client::OrIgnore;
using canopy::client::Session;
using canopy::client::WithSession;
using canopy::client::WithSessionAsync;

extern "C" {

pmix_status_t PMIx_Get_credential(const pmix_info_t info[], size_t ninfo,
                                  pmix_byte_object_t* credential) {
  return WithSession([&](Session& session) {
    return canopy::client::GetCredential(session, {info, ninfo}, credential);
  });
}

pmix_status_t PMIx_Get_credential_nb(const pmix_info_t info[], size_t ninfo,
                                     pmix_credential_cbfunc_t cbfunc,
                                     void* cbdata) {
  return WithSessionAsync([&](Session& session) {
    return canopy::client::GetCredentialAsync(session, {info, ninfo},
                                              OrIgnore(cbfunc), cbdata);
  });
}

pmix_status_t PMIx_Validate_credential(const pmix_byte_object_t* cred,
                                       const pmix_info_t info[], size_t ninfo,
                                       pmix_info_t** results,
                                       size_t* nresults) {
  return WithSession([&](Session& session) {
    return canopy::client::ValidateCredential(session, cred, {info, ninfo},
                                              results, nresults);
  });
}

pmix_status_t PMIx_Validate_credential_nb(const pmix_byte_object_t* cred,
                                          const pmix_info_t info[],
                                          size_t ninfo,
                                          pmix_validation_cbfunc_t cbfunc,
                                          void* cbdata) {
  return WithSessionAsync([&](Session& session) {
    return canopy::client::ValidateCredentialAsync(session, cred, {info, ninfo},
                                                   OrIgnore(cbfunc), cbdata);
  });
}

}  // extern "C"
