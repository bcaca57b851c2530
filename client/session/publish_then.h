// PMIx_Publish_nb, PMIx_Lookup_nb and PMIx_Unpublish_nb for this library's own
// use, with C++ functions as callbacks.
#ifndef CANOPY_CLIENT_SESSION_PUBLISH_THEN_H_
#define CANOPY_CLIENT_SESSION_PUBLISH_THEN_H_

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "client/session/session.h"
#include "common/values/info_list.h"
#include "pmix.h"

namespace canopy::client {

// Each function calls `then` once: on the progress thread, or before it returns
// if the request cannot be sent.

// `infos` are the data and the directives.
void PublishThen(Session& session, const InfoList& infos,
                 std::function<void(int status)> then);
// The data is valid until `then` returns.
using Found = std::function<void(int status, std::span<const pmix_pdata_t>)>;
void LookUpThen(Session& session, std::vector<std::string> keys,
                const InfoList& directives, Found then);
void UnpublishThen(Session& session, std::string key,
                   std::function<void(int status)> then);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_PUBLISH_THEN_H_
