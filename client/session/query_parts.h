// One pmix_query_t, as far as this library evaluates it itself.
#ifndef CANOPY_CLIENT_SESSION_QUERY_PARTS_H_
#define CANOPY_CLIENT_SESSION_QUERY_PARTS_H_

#include <string>
#include <vector>

#include "common/ids.h"
#include "common/values/info_list.h"
#include "pmix.h"

namespace canopy::client {

struct QueryParts {
  std::vector<std::string> keys;
  InfoList qualifiers;  // as given
  // The process that the qualifiers name, or kRankUndef without a namespace.
  ProcId proc{"", kRankUndef};
  // PMIX_SESSION_INFO, PMIX_HOSTNAME and other qualifiers that PMIx_Get knows.
  InfoList realm;
  std::string cache_key;  // the qualifiers that an answer depends on
  // True if the query may be answered without the agent: a new answer is not
  // required, and no qualifier needs an agent.
  bool here = true;
  // True if all qualifiers concern data that PMIx_Get finds. Other qualifiers
  // have no effect on such data, and the agent reports them.
  bool only_of_data = true;
  bool of_support = false;  // PMIX_QUERY_ATTRIBUTE_SUPPORT
  // PMIX_QUERY_SUPPORTED_QUALIFIERS: the answer lists the keys' qualifiers.
  bool of_qualifiers = false;
};

// Reads a query into `*parts`, which must be new. Returns a PMIx status:
// PMIX_ERR_BAD_PARAM for a query without keys, an empty or too long key, a null
// array of qualifiers, or two processes. A query of support
// (PMIX_QUERY_ATTRIBUTE_SUPPORT) uses only some qualifiers: another qualifier
// is refused with PMIX_ERR_NOT_SUPPORTED if it is required, and is reported if
// it is optional. The agent checks the qualifiers of other queries.
int ReadQuery(const pmix_query_t& query, QueryParts* parts);

// Sets `*frame` to the request for some of the query's keys. Returns a PMIx
// status; `*frame` is unchanged if a qualifier cannot be encoded.
int EncodeQuery(const std::vector<std::string>& keys,
                const InfoList& qualifiers, std::string* frame);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_QUERY_PARTS_H_
