// The dynamic loader's index of libraries, /etc/ld.so.cache, in the format of
// glibc's ldconfig.
#ifndef CANOPY_COMMON_LOADER_LD_CACHE_H_
#define CANOPY_COMMON_LOADER_LD_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace canopy::loader {

inline constexpr char kLdCachePath[] = "/etc/ld.so.cache";

class LdCache {
 public:
  // Reads the file at `path`. The cache is empty if there is no such file or it
  // has another format.
  static LdCache Read(const std::string& path);
  // Parses the bytes of such a file.
  explicit LdCache(std::vector<char> bytes);

  // Returns the paths of the libraries with this name, in the loader's order of
  // preference. Some of these libraries may be for other machines.
  std::vector<std::string> Find(std::string_view name) const;

 private:
  std::string_view TextAt(uint32_t offset) const;
  bool IsAt(uint32_t offset, std::string_view name) const;

  std::vector<char> bytes_;
  size_t base_ = 0;   // position of the header, to which offsets are relative
  size_t count_ = 0;  // number of entries
};

}  // namespace canopy::loader

#endif  // CANOPY_COMMON_LOADER_LD_CACHE_H_
