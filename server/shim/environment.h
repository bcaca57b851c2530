// Environments of many processes that differ in a few variables.
#ifndef CANOPY_SERVER_SHIM_ENVIRONMENT_H_
#define CANOPY_SERVER_SHIM_ENVIRONMENT_H_

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace canopy::process {

// NAME=VALUE strings, each name once; the last one set wins. Strings without
// '=' are ignored. Pointers given out are good until the next Set.
class Environment {
 public:
  void Set(std::string entry);
  void SetAll(const std::vector<std::string>& entries);
  // Null when not set.
  const char* Get(std::string_view name) const;

  // This environment with `entries` on top, null-terminated, as execve takes
  // it. Both must outlive the result.
  std::vector<char*> Overlay(const std::vector<std::string>& entries) const;

 private:
  std::vector<std::string> entries_;
  std::unordered_map<std::string, size_t> index_;  // by name
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_ENVIRONMENT_H_
