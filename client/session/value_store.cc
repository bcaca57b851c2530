#include "client/session/value_store.h"

#include <algorithm>

namespace canopy::client {
namespace {

// The order in which the scopes are searched for a key. A PMIX_LOCAL value is
// newer than a PMIX_GLOBAL value that is also present.
constexpr pmix_scope_t kOrder[] = {PMIX_INTERNAL, PMIX_LOCAL, PMIX_GLOBAL,
                                   PMIX_REMOTE};

auto PlaceOf(pmix_scope_t scope) { return std::ranges::find(kOrder, scope); }

}  // namespace

void ValueStore::Put(const ProcId& proc, std::string_view key, Value value,
                     pmix_scope_t scope) {
  const WriterLock lock(mu_);
  Puts& puts = procs_[proc][std::string(key)];
  bits_.fetch_or(Bit(key), std::memory_order_release);
  if (puts.size() == 1 && puts.front().scope == scope) {
    puts.front().value = std::move(value);
    return;
  }
  std::erase_if(puts, [scope](const ScopedValue& one) {
    return one.scope == scope ||
           (scope == PMIX_GLOBAL &&
            (one.scope == PMIX_LOCAL || one.scope == PMIX_REMOTE));
  });
  const auto next =
      std::ranges::find_if(puts, [place = PlaceOf(scope)](const auto& one) {
        return PlaceOf(one.scope) > place;
      });
  puts.insert(next, {scope, std::move(value)});
}

void ValueStore::EraseInternal(const ProcId& proc, std::string_view key) {
  const WriterLock lock(mu_);
  const auto keys = procs_.find(proc);
  if (keys == procs_.end()) return;
  const auto found = keys->second.find(key);
  if (found == keys->second.end()) return;
  std::erase_if(found->second, [](const ScopedValue& one) {
    return one.scope == PMIX_INTERNAL;
  });
  if (found->second.empty()) keys->second.erase(found);
}

}  // namespace canopy::client
