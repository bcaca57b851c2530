#include "common/loader/ld_cache.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "common/posix/unique_fd.h"

namespace canopy::loader {
namespace {

// The limit for the size of the index. A machine has a few thousand libraries,
// and an entry with its strings takes about a hundred bytes.
constexpr size_t kMaxSize = 32u << 20;
constexpr std::string_view kMagic = "glibc-ld.so.cache1.1";

struct Header {
  char magic[20];
  uint32_t count;
  uint32_t strings_size;
  uint32_t unused[5];
};
static_assert(sizeof(Header) == 48);

struct Entry {
  int32_t flags;
  uint32_t name;
  uint32_t path;
  uint32_t os_version;
  uint64_t hardware;
};
static_assert(sizeof(Entry) == 24);

}  // namespace

LdCache LdCache::Read(const std::string& path) {
  std::vector<char> bytes;
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info;
  if (fd && fstat(fd.get(), &info) == 0 && S_ISREG(info.st_mode) &&
      static_cast<size_t>(info.st_size) <= kMaxSize) {
    bytes.resize(static_cast<size_t>(info.st_size));
    const ssize_t n = read(fd.get(), bytes.data(), bytes.size());
    bytes.resize(n > 0 ? static_cast<size_t>(n) : 0);
  }
  return LdCache(std::move(bytes));
}

LdCache::LdCache(std::vector<char> bytes) : bytes_(std::move(bytes)) {
  // In the file, an index in the older format may precede the one that begins
  // with kMagic.
  const std::string_view text(bytes_.data(), bytes_.size());
  const size_t at = text.find(kMagic);
  if (at == std::string_view::npos || text.size() - at < sizeof(Header)) return;
  Header header;
  std::memcpy(&header, text.data() + at, sizeof header);
  base_ = at;
  count_ = std::min<size_t>(header.count,
                            (text.size() - at - sizeof header) / sizeof(Entry));
}

std::string_view LdCache::TextAt(uint32_t offset) const {
  if (offset >= bytes_.size() - base_) return {};
  const char* const begin = bytes_.data() + base_ + offset;
  return {begin, strnlen(begin, bytes_.size() - base_ - offset)};
}

bool LdCache::IsAt(uint32_t offset, std::string_view name) const {
  const std::string_view text(bytes_.data() + base_, bytes_.size() - base_);
  return offset < text.size() && name.size() < text.size() - offset &&
         text[offset + name.size()] == '\0' &&
         text.substr(offset, name.size()) == name;
}

std::vector<std::string> LdCache::Find(std::string_view name) const {
  std::vector<std::string> paths;
  for (size_t i = 0; i < count_; ++i) {
    Entry entry;
    std::memcpy(&entry,
                bytes_.data() + base_ + sizeof(Header) + i * sizeof entry,
                sizeof entry);
    if (IsAt(entry.name, name)) paths.emplace_back(TextAt(entry.path));
  }
  return paths;
}

}  // namespace canopy::loader
