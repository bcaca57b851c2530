// The environments of many processes that differ in a few variables.
#ifndef CANOPY_SERVER_SHIM_ENVIRONMENT_H_
#define CANOPY_SERVER_SHIM_ENVIRONMENT_H_

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace canopy::process {

// A list of NAME=VALUE strings with unique names: a later value of a name
// replaces an earlier one. Strings without '=' are ignored. Returned pointers
// are valid until the next Set.
class Environment {
 public:
  void Set(std::string entry);
  void SetAll(const std::vector<std::string>& entries);
  // Returns the value of the variable, or null if it is not set.
  const char* Get(std::string_view name) const;

  // Returns this environment overridden by `entries`, null-terminated for
  // execve. This object and `entries` must outlive the result.
  std::vector<char*> Overlay(const std::vector<std::string>& entries) const;

 private:
  std::vector<std::string> entries_;
  std::unordered_map<std::string, size_t> index_;  // by name
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_ENVIRONMENT_H_
