#include "client/session/query_cache.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "common/codec/encoder.h"
#include "pmix.h"

namespace canopy::client {
namespace {

constexpr std::string_view kOfHost[] = {
    PMIX_TIME_REMAINING,        PMIX_QUERY_QUEUE_LIST,
    PMIX_QUERY_QUEUE_STATUS,    PMIX_QUERY_ALLOC_STATUS,
    PMIX_QUERY_AUTHORIZATIONS,  PMIX_QUERY_ALLOCATION,
    PMIX_QUERY_ALLOC_IDS,       PMIX_QUERY_ALLOC_PROPERTIES,
    PMIX_QUERY_AVAILABLE_SLOTS, PMIX_QUERY_MIN_ALLOC_UNIT,
    PMIX_QUERY_RES_BLOCKS,      PMIX_QUERY_RES_BLOCK_DEF};

// Returns true for a key whose answer does not show whether processes are
// missing.
bool IsOfMemory(std::string_view key) { return key == PMIX_QUERY_MEMORY_USAGE; }

bool HasUnknownProcess(const pmix_value_t& value) {
  if (value.type != PMIX_DATA_ARRAY || value.data.darray == nullptr ||
      value.data.darray->type != PMIX_PROC_INFO) {
    return false;
  }
  const pmix_data_array_t& table = *value.data.darray;
  const std::span rows(static_cast<const pmix_proc_info_t*>(table.array),
                       table.size);
  return std::ranges::any_of(rows, [](const pmix_proc_info_t& row) {
    return row.state == PMIX_PROC_STATE_UNDEF;
  });
}

}  // namespace

bool IsOfHost(std::string_view key) {
  return std::ranges::count(kOfHost, key) > 0;
}

void QueryCache::Put(const CachedQuery& query, const Value& answer) {
  const bool fits = !IsOfMemory(query.first) && !IsOfHost(query.first) &&
                    !HasUnknownProcess(answer.raw()) &&
                    EncodeValue(answer.raw()).size() <= kMaxAnswerBytes;
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
