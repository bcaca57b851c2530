// Values that this process keeps for itself: what it put, and what it stored
// with PMIx_Store_internal about any process.
#ifndef CANOPY_CLIENT_SESSION_VALUE_STORE_H_
#define CANOPY_CLIENT_SESSION_VALUE_STORE_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "common/ids.h"
#include "common/mutex.h"
#include "common/values/value.h"
#include "pmix.h"

namespace canopy::client {

// Thread-safe. Looking for a key that was never stored costs one load.
class ValueStore {
 public:
  // Replaces what was there.
  void Put(const ProcId& proc, std::string_view key, Value value,
           pmix_scope_t scope);

  // Calls visit(const Value&) under the store's lock when the key is there
  // with that scope (PMIX_SCOPE_UNDEF: any).
  template <typename Visit>
  bool Read(std::string_view nspace, Rank rank, std::string_view key,
            pmix_scope_t scope, Visit&& visit) const {
    if (!MayHave(key)) return false;
    const ReaderLock lock(mu_);
    const auto keys = procs_.find(ProcView{nspace, rank});
    if (keys == procs_.end()) return false;
    const auto found = keys->second.find(key);
    if (found == keys->second.end()) return false;
    if (scope != PMIX_SCOPE_UNDEF && found->second.scope != scope) return false;
    visit(found->second.value);
    return true;
  }

  // Calls visit(key, const Value&) for all keys of a process.
  template <typename Visit>
  void ForEach(std::string_view nspace, Rank rank, pmix_scope_t scope,
               Visit&& visit) const {
    const ReaderLock lock(mu_);
    const auto keys = procs_.find(ProcView{nspace, rank});
    if (keys == procs_.end()) return;
    for (const auto& [key, entry] : keys->second) {
      if (scope != PMIX_SCOPE_UNDEF && entry.scope != scope) continue;
      visit(std::string_view(key), entry.value);
    }
  }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(const ProcView& p) const {
      return std::hash<std::string_view>()(p.nspace) * 31 + p.rank;
    }
    size_t operator()(const ProcId& p) const { return (*this)(ViewOf(p)); }
  };
  struct Equal {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return a.rank == b.rank && a.nspace == b.nspace;
    }
  };
  struct Entry {
    Value value;
    pmix_scope_t scope = PMIX_SCOPE_UNDEF;
  };
  using Keys = std::map<std::string, Entry, std::less<>>;

  // A key sets one bit; a clear bit says that no such key was ever stored.
  static uint64_t Bit(std::string_view key) {
    if (key.empty()) return 1;
    const auto last = static_cast<unsigned char>(key.back());
    const auto middle = static_cast<unsigned char>(key[key.size() / 2]);
    return uint64_t{1} << ((key.size() * 7 + last * 5 + middle * 3) % 64);
  }
  bool MayHave(std::string_view key) const {
    return (bits_.load(std::memory_order_acquire) & Bit(key)) != 0;
  }

  mutable SharedMutex mu_;
  std::unordered_map<ProcId, Keys, Hash, Equal> procs_ CANOPY_GUARDED_BY(mu_);
  std::atomic<uint64_t> bits_{0};
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_VALUE_STORE_H_
