#include "client/session/value_store.h"

namespace canopy::client {

void ValueStore::Put(const ProcId& proc, std::string_view key, Value value,
                     pmix_scope_t scope) {
  const WriterLock lock(mu_);
  Entry& entry = procs_[proc][std::string(key)];
  entry.value = std::move(value);
  entry.scope = scope;
  bits_.fetch_or(Bit(key), std::memory_order_release);
}

}  // namespace canopy::client
