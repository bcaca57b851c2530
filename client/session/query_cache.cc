#include "client/session/query_cache.h"

#include "common/codec/encoder.h"

namespace canopy::client {

void QueryCache::Put(const CachedQuery& query, const Value& answer) {
  const bool fits = EncodeValue(answer.raw()).size() <= kMaxAnswerBytes;
  const MutexLock lock(mu_);
  if (!fits) {
    answers_.erase(query);
    return;
  }
  if (answers_.size() >= kMaxAnswers && !answers_.contains(query)) {
    answers_.clear();
  }
  answers_[query] = answer;
}

std::optional<Value> QueryCache::Find(const CachedQuery& query) const {
  const MutexLock lock(mu_);
  const auto it = answers_.find(query);
  if (it == answers_.end()) return std::nullopt;
  return it->second;
}

}  // namespace canopy::client
