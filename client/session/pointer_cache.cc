#include "client/session/pointer_cache.h"

namespace canopy::client {

pmix_value_t* PointerCache::Keep(const ProcId& proc, std::string_view key,
                                 pmix_value_t* value) {
  Value kept = Value::Adopt(value);
  const MutexLock lock(mu_);
  std::deque<Value>& versions = values_[{proc, std::string(key)}];
  for (Value& version : versions) {
    if (version == kept) return version.mutable_raw();
  }
  versions.push_back(std::move(kept));
  return versions.back().mutable_raw();
}

}  // namespace canopy::client
