// Answers of earlier queries, which later ones get unless they ask for new
// ones.
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

// A key, and the qualifiers that its answer depends on, in codec form.
using CachedQuery = std::pair<std::string, std::string>;

// Whether the agent asks its host for the key: queues, allocations, the time
// that is left.
bool IsOfHost(std::string_view key);

// Thread-safe. When it is full, all of it is forgotten.
class QueryCache {
 public:
  static constexpr size_t kMaxAnswers = 512;
  // Of one answer that is kept, in codec form.
  static constexpr size_t kMaxAnswerBytes = size_t{64} << 10;

  // Replaces what was there. What is too large, or may be without the processes
  // of a node that has not answered, is not kept: it would be so for ever. Nor
  // is what is of the host, which is no more true soon.
  void Put(const CachedQuery& query, const Value& answer) CANOPY_EXCLUDES(mu_);
  std::optional<Value> Find(const CachedQuery& query) const
      CANOPY_EXCLUDES(mu_);

 private:
  mutable Mutex mu_;
  std::map<CachedQuery, Value> answers_ CANOPY_GUARDED_BY(mu_);
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_QUERY_CACHE_H_
