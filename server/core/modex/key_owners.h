// Index of one job's modex: which rank has a key. It answers a get with rank
// UNDEF without reading the data of each rank.
#ifndef CANOPY_SERVER_CORE_MODEX_KEY_OWNERS_H_
#define CANOPY_SERVER_CORE_MODEX_KEY_OWNERS_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "common/ids.h"

namespace canopy::core {

// Has one entry for each distinct key and owns the key, so its memory is at
// most a constant factor of the data. Used by one thread.
class KeyOwners {
 public:
  // Adds a rank for a key; the lowest rank of each key is kept.
  void Add(std::string_view key, Rank rank);
  // Adds every key of KVALs in codec form; stops at the first malformed KVAL.
  void AddAll(std::string_view kvals, Rank rank);
  // Like AddAll, but leaves out the keys that the KVALs delete.
  void AddPut(std::string_view kvals, Rank rank);
  // Returns the lowest rank that was added for the key; no value if there is
  // none.
  std::optional<Rank> Find(std::string_view key) const;
  size_t size() const { return owners_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view key) const {
      return std::hash<std::string_view>()(key);
    }
  };
  std::unordered_map<std::string, Rank, Hash, std::equal_to<>> owners_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_MODEX_KEY_OWNERS_H_
