// Topologies, cpusets and their texts name the library that created them.
#ifndef CANOPY_CLIENT_TOPOLOGY_SOURCE_H_
#define CANOPY_CLIENT_TOPOLOGY_SOURCE_H_

#include <strings.h>

#include <string_view>

namespace canopy::client {

// Returns true for "hwloc", also with a version ("hwloc:2.9.0"), and for null.
inline bool IsHwloc(std::string_view source) {
  constexpr std::string_view kName = "hwloc";
  if (source.size() < kName.size()) return false;
  return strncasecmp(source.data(), kName.data(), kName.size()) == 0 &&
         (source.size() == kName.size() || source[kName.size()] == ':');
}
inline bool IsHwloc(const char* source) {
  return source == nullptr || IsHwloc(std::string_view(source));
}

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_TOPOLOGY_SOURCE_H_
