// Answers of earlier queries. Later queries get these answers unless they
// request new ones.
#ifndef CANOPY_CLIENT_SESSION_QUERY_CACHE_H_
#define CANOPY_CLIENT_SESSION_QUERY_CACHE_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "common/mutex.h"
#include "common/values/value.h"

namespace canopy::client {

// A key and the qualifiers that its answer depends on, in codec form.
using CachedQuery = std::pair<std::string, std::string>;

// Returns true if the agent's host answers the key, as it does for queues,
// allocations and the remaining time.
bool IsOfHost(std::string_view key);

// Thread-safe. When the cache is full, all of it is dropped.
class QueryCache {
 public:
  static constexpr size_t kMaxAnswers = 512;
  // Limit of one cached answer, in codec form.
  static constexpr size_t kMaxAnswerBytes = size_t{64} << 10;

  // Replaces an earlier answer. Does not keep an answer that is too large, or
  // an answer of the host, which is soon out of date. Nor does it keep an
  // answer that may lack the processes of a silent node, because later queries
  // would then lack them too.
  void Put(const CachedQuery& query, const Value& answer) CANOPY_EXCLUDES(mu_);
  std::optional<Value> Find(const CachedQuery& query) const
      CANOPY_EXCLUDES(mu_);

 private:
  mutable Mutex mu_;
  std::map<CachedQuery, Value> answers_ CANOPY_GUARDED_BY(mu_);
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_QUERY_CACHE_H_
