// PMIx_Publish, PMIx_Lookup, PMIx_Unpublish and their non-blocking forms on a
// session. The agents keep the data and know the directives; what they do not
// honour, and the caller requires, they refuse.
#ifndef CANOPY_CLIENT_SESSION_PUBLISH_OP_H_
#define CANOPY_CLIENT_SESSION_PUBLISH_OP_H_

#include <cstddef>
#include <span>

#include "client/session/directives.h"
#include "client/session/session.h"
#include "pmix.h"

namespace canopy::client {

// All return a PMIx status: PMIX_ERR_BAD_PARAM for wrong arguments,
// PMIX_ERR_UNREACH without an agent, else the agents' answer. Of the
// non-blocking forms the callback, which must not be null, runs on the progress
// thread unless an error is returned.

// `infos` has the data, at least one, and the directives.
int PublishData(Session& session, const InfoArray& infos);
int PublishDataAsync(Session& session, const InfoArray& infos,
                     pmix_op_cbfunc_t cbfunc, void* cbdata);

// data[i].key names what is wanted; publisher and value of what was found are
// filled in, a value of all others is PMIX_UNDEF. What the values hold before
// is not freed. The caller owns the values afterwards.
int LookUpData(Session& session, std::span<pmix_pdata_t> data,
               const InfoArray& directives);
// `keys` ends with null.
int LookUpDataAsync(Session& session, char* const* keys,
                    const InfoArray& directives, pmix_lookup_cbfunc_t cbfunc,
                    void* cbdata);

// `keys` ends with null; null: all that the caller has published.
int UnpublishData(Session& session, char* const* keys,
                  const InfoArray& directives);
int UnpublishDataAsync(Session& session, char* const* keys,
                       const InfoArray& directives, pmix_op_cbfunc_t cbfunc,
                       void* cbdata);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_PUBLISH_OP_H_
