// PMIx_Get_credential and PMIx_Validate_credential on a session.
#ifndef CANOPY_CLIENT_SESSION_CREDENTIAL_OP_H_
#define CANOPY_CLIENT_SESSION_CREDENTIAL_OP_H_

#include <cstddef>

#include "client/session/directives.h"
#include "client/session/session.h"
#include "pmix.h"

namespace canopy::client {

// Return a PMIx status. The caller owns *credential on success; on an error it
// is empty.
int GetCredential(Session& session, const InfoArray& infos,
                  pmix_byte_object_t* credential);

// The non-blocking form. Calls `cbfunc` on the progress thread, unless it
// returns an error.
int GetCredentialAsync(Session& session, const InfoArray& infos,
                       pmix_credential_cbfunc_t cbfunc, void* cbdata);

// Returns a PMIx status. The caller owns the results.
int ValidateCredential(Session& session, const pmix_byte_object_t* credential,
                       const InfoArray& infos, pmix_info_t** results,
                       size_t* nresults);

// The non-blocking form. Calls `cbfunc` on the progress thread, unless it
// returns an error.
int ValidateCredentialAsync(Session& session,
                            const pmix_byte_object_t* credential,
                            const InfoArray& infos,
                            pmix_validation_cbfunc_t cbfunc, void* cbdata);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_CREDENTIAL_OP_H_
