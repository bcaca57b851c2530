// What earlier jobs of this agent found out about their programs, so that
// launching the same one again need not look into its files.
#ifndef CANOPY_SERVER_PROCESS_FINDING_CACHE_H_
#define CANOPY_SERVER_PROCESS_FINDING_CACHE_H_

#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "server/shim/protocol.h"

namespace canopy::process {

// Under what a finding is known: everything that decides but for the files,
// which it names itself. Another user's is another one.
std::string FindingKey(const PrepareJob& job, const AppSpec& app);

// Keeps the 128 that were used last. Loop thread only.
class FindingCache {
 public:
  // Empty when there is none.
  std::string Get(const std::string& key);
  // One of more than 64 KiB is not kept.
  void Put(const std::string& key, std::string finding);

 private:
  using Entry = std::pair<std::string, std::string>;

  std::list<Entry> entries_;  // used last first
  std::unordered_map<std::string_view, std::list<Entry>::iterator> index_;
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_FINDING_CACHE_H_
