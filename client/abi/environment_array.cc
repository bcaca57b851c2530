#include "client/abi/environment_array.h"

#include <cstdlib>
#include <unordered_map>
#include <utility>

#include "common/values/memory.h"

namespace canopy::client {

bool EditEnvironment(const std::function<void(std::vector<std::string>*)>& edit,
                     char*** env) {
  std::vector<std::string> entries;
  std::unordered_map<std::string, char*> old;
  for (char** entry = *env; entry != nullptr && *entry != nullptr; ++entry) {
    // An entry that occurs twice is kept once.
    if (old.emplace(*entry, *entry).second) entries.emplace_back(*entry);
  }
  const std::vector<std::string> before = entries;
  edit(&entries);
  if (entries == before) return true;
  auto* fresh =
      static_cast<char**>(AllocateZeroed(entries.size() + 1, sizeof(char*)));
  std::vector<char*> made;
  bool complete = fresh != nullptr;
  for (size_t i = 0; complete && i < entries.size(); ++i) {
    const auto kept = old.find(entries[i]);
    fresh[i] = kept != old.end() ? kept->second : DuplicateString(entries[i]);
    if (kept == old.end()) made.push_back(fresh[i]);
    complete = fresh[i] != nullptr;
  }
  if (!complete) {
    for (char* entry : made) std::free(entry);
    std::free(fresh);
    return false;
  }
  for (const std::string& entry : entries) old.erase(entry);
  for (const auto& [text, entry] : old) std::free(entry);
  std::free(std::exchange(*env, fresh));
  return true;
}

}  // namespace canopy::client
