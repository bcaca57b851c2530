#include "client/session/value_store.h"

#include <mutex>

namespace canopy::client {

void ValueStore::Put(const ProcId& proc, std::string_view key, Value value,
                     pmix_scope_t scope) {
  std::lock_guard<std::shared_mutex> lock(mu_);
  Entry& entry = procs_[proc][std::string(key)];
  entry.value = std::move(value);
  entry.scope = scope;
  bits_.fetch_or(Bit(key), std::memory_order_release);
}

}  // namespace canopy::client
