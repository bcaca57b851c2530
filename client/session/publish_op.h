// PMIx_Publish, PMIx_Lookup, PMIx_Unpublish and their non-blocking forms on a
// session. The agents keep the data and read the directives; they refuse a
// required directive that they do not honour.
#ifndef CANOPY_CLIENT_SESSION_PUBLISH_OP_H_
#define CANOPY_CLIENT_SESSION_PUBLISH_OP_H_

#include <cstddef>
#include <span>

#include "client/session/directives.h"
#include "client/session/session.h"
#include "pmix.h"

namespace canopy::client {

// All functions return a PMIx status: PMIX_ERR_BAD_PARAM for wrong arguments,
// PMIX_ERR_UNREACH if there is no agent, otherwise the agents' answer. A
// non-blocking form calls its callback, which must not be null, on the progress
// thread, unless the form returns an error.

// Publish data. `infos` contains the data, at least one entry, and the
// directives.
int PublishData(Session& session, const InfoArray& infos);
int PublishDataAsync(Session& session, const InfoArray& infos,
                     pmix_op_cbfunc_t cbfunc, void* cbdata);

// Looks up the keys data[i].key. The publisher and the value are filled in for
// keys that were found; other values become PMIX_UNDEF. Previous contents of
// the values are not freed. The caller owns the values afterwards.
int LookUpData(Session& session, std::span<pmix_pdata_t> data,
               const InfoArray& directives);
// `keys` ends with null.
int LookUpDataAsync(Session& session, char* const* keys,
                    const InfoArray& directives, pmix_lookup_cbfunc_t cbfunc,
                    void* cbdata);

// Unpublish keys. `keys` ends with null. If `keys` itself is null, all data of
// the caller is unpublished.
int UnpublishData(Session& session, char* const* keys,
                  const InfoArray& directives);
int UnpublishDataAsync(Session& session, char* const* keys,
                       const InfoArray& directives, pmix_op_cbfunc_t cbfunc,
                       void* cbdata);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_PUBLISH_OP_H_
