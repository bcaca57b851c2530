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
#include <vector>

#include "common/ids.h"
#include "common/mutex.h"
#include "common/values/value.h"
#include "pmix.h"

namespace canopy::client {

// The values of one key that were put with different scopes stand side by side,
// but PMIX_GLOBAL replaces PMIX_LOCAL and PMIX_REMOTE. Thread-safe. Looking for
// a key that was never stored costs one load.
class ValueStore {
 public:
  // Replaces the value of the same scope.
  void Put(const ProcId& proc, std::string_view key, Value value,
           pmix_scope_t scope);

  // Calls visit(const Value&) under the store's lock when the key is there
  // with that scope. PMIX_SCOPE_UNDEF: with any. Of several, PMIX_INTERNAL goes
  // before what the processes of this node see, and that before PMIX_REMOTE.
  template <typename Visit>
  bool Read(std::string_view nspace, Rank rank, std::string_view key,
            pmix_scope_t scope, Visit&& visit) const {
    if (!MayHave(key)) return false;
    const ReaderLock lock(mu_);
    const auto keys = procs_.find(ProcView{nspace, rank});
    if (keys == procs_.end()) return false;
    const auto found = keys->second.find(key);
    if (found == keys->second.end()) return false;
    const Value* value = ValueIn(found->second, scope);
    if (value == nullptr) return false;
    visit(*value);
    return true;
  }

  // Calls visit(key, const Value&) once for each key of a process, as Read.
  template <typename Visit>
  void ForEach(std::string_view nspace, Rank rank, pmix_scope_t scope,
               Visit&& visit) const {
    const ReaderLock lock(mu_);
    const auto keys = procs_.find(ProcView{nspace, rank});
    if (keys == procs_.end()) return;
    for (const auto& [key, puts] : keys->second) {
      const Value* value = ValueIn(puts, scope);
      if (value != nullptr) visit(std::string_view(key), *value);
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
  struct ScopedValue {
    pmix_scope_t scope = PMIX_SCOPE_UNDEF;
    Value value;
  };
  // Of one key, never empty; in the order in which Read looks.
  using Puts = std::vector<ScopedValue>;
  using Keys = std::map<std::string, Puts, std::less<>>;

  // Null: there is none of that scope.
  static const Value* ValueIn(const Puts& puts, pmix_scope_t scope) {
    if (scope == PMIX_SCOPE_UNDEF) return &puts.front().value;
    for (const ScopedValue& one : puts) {
      if (one.scope == scope) return &one.value;
    }
    return nullptr;
  }

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
