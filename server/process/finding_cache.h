// Caches the findings of earlier jobs of this agent about their programs, so
// that another launch of the same program need not read its files.
#ifndef CANOPY_SERVER_PROCESS_FINDING_CACHE_H_
#define CANOPY_SERVER_PROCESS_FINDING_CACHE_H_

#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "server/shim/protocol.h"

namespace canopy::process {

// Returns the cache key of a finding. It contains everything that determines
// the finding, except the files, which the finding itself names. The key
// depends on the user.
std::string FindingKey(const PrepareJob& job, const AppSpec& app);

// Keeps the 128 entries that were used last. Loop thread only.
class FindingCache {
 public:
  // Returns the finding, or an empty string if there is no entry.
  std::string Get(const std::string& key);
  // Stores a finding. Ignores findings of more than 64 KiB.
  void Put(const std::string& key, std::string finding);

 private:
  using Entry = std::pair<std::string, std::string>;

  std::list<Entry> entries_;  // most recently used first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> index_;
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_FINDING_CACHE_H_
