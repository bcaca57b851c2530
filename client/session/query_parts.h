// One pmix_query_t, as far as this library deals with it by itself.
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
  // Whose data: of the qualifiers, or kRankUndef and no namespace.
  ProcId proc{"", kRankUndef};
  // PMIX_SESSION_INFO, PMIX_HOSTNAME and the like, which PMIx_Get knows too.
  InfoList realm;
  std::string cache_key;  // the qualifiers that an answer depends on
  // May be answered without the agent: no new answer is wanted, nor is there a
  // qualifier that only an agent can judge.
  bool here = true;
  bool of_support = false;  // PMIX_QUERY_ATTRIBUTE_SUPPORT
  // PMIX_QUERY_SUPPORTED_QUALIFIERS: the answers are not those to the keys.
  bool of_qualifiers = false;
};

// Returns a PMIx status: PMIX_ERR_BAD_PARAM for a query without keys, and for
// a process that is named twice; PMIX_ERR_NOT_SUPPORTED for a required
// qualifier that queries of support do not heed. The agent judges those of
// others.
int ReadQuery(const pmix_query_t& query, QueryParts* parts);

// The frame of one query for these of its keys.
int EncodeQuery(const std::vector<std::string>& keys,
                const InfoList& qualifiers, std::string* frame);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_QUERY_PARTS_H_
