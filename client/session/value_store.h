// Values that this process keeps for itself: its own puts, and values of any
// process that it stored with PMIx_Store_internal.
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

// One key may have a value for each scope, but PMIX_GLOBAL replaces PMIX_LOCAL
// and PMIX_REMOTE. An empty value records that this process has deleted the
// key, which other stores may still have. Thread-safe. The search for a key
// that was never stored usually costs one load.
class ValueStore {
 public:
  // Replaces the value of the same scope.
  void Put(const ProcId& proc, std::string_view key, Value value,
           pmix_scope_t scope);

  // Removes the value of the scope PMIX_INTERNAL. Has no effect if there is
  // none.
  void EraseInternal(const ProcId& proc, std::string_view key);

  // Calls visit(const Value&) under the store's lock if the key has a value
  // with that scope, and returns true then. PMIX_SCOPE_UNDEF means any scope:
  // PMIX_INTERNAL first, then the scopes that processes of this node see, then
  // PMIX_REMOTE. An empty value counts only if there is no other value.
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

  // Calls visit(key, const Value&) once for each key of a process, with the
  // value that Read finds.
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
  // The values of one key; never empty, in the order of Read.
  using Puts = std::vector<ScopedValue>;
  using Keys = std::map<std::string, Puts, std::less<>>;

  // Returns the value for `scope`, or null if there is none.
  static const Value* ValueIn(const Puts& puts, pmix_scope_t scope) {
    for (const ScopedValue& one : puts) {
      const bool fits =
          scope == PMIX_SCOPE_UNDEF ? !one.value.empty() : one.scope == scope;
      if (fits) return &one.value;
    }
    return scope == PMIX_SCOPE_UNDEF ? &puts.front().value : nullptr;
  }

  // Returns the bit of a key, which is set when the key is stored; a clear bit
  // means that no such key was ever stored.
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
