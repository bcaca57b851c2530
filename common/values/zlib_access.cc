#include "common/values/zlib_access.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstring>

namespace canopy {
namespace {

constexpr int kOk = 0;
// A zlib stream expands by at most about this factor. A larger length is
// invalid, so it is rejected before it is allocated.
constexpr size_t kMaxExpansion = 1100;

struct Zlib {
  int (*compress)(unsigned char*, unsigned long*, const unsigned char*,
                  unsigned long) = nullptr;
  int (*uncompress)(unsigned char*, unsigned long*, const unsigned char*,
                    unsigned long) = nullptr;
  unsigned long (*compress_bound)(unsigned long) = nullptr;
};

template <typename Function>
bool Bind(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

const Zlib* Open() {
  static Zlib zlib;
  void* library = dlopen("libz.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  const bool complete = Bind(library, "compress", &zlib.compress) &&
                        Bind(library, "uncompress", &zlib.uncompress) &&
                        Bind(library, "compressBound", &zlib.compress_bound);
  return complete ? &zlib : nullptr;
}

const Zlib* TheZlib() {
  static const Zlib* const zlib = Open();
  return zlib;
}

const unsigned char* Unsigned(const char* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}

unsigned char* Unsigned(char* bytes) {
  return reinterpret_cast<unsigned char*>(bytes);
}

}  // namespace

std::optional<std::string> Compress(std::string_view content) {
  const Zlib* zlib = TheZlib();
  if (zlib == nullptr || content.size() > UINT32_MAX) return std::nullopt;
  const auto length = static_cast<uint32_t>(content.size());
  unsigned long size = zlib->compress_bound(content.size());
  std::string out(sizeof(length) + size, '\0');
  memcpy(out.data(), &length, sizeof(length));
  if (zlib->compress(Unsigned(out.data() + sizeof(length)), &size,
                     Unsigned(content.data()), content.size()) != kOk) {
    return std::nullopt;
  }
  out.resize(sizeof(length) + size);
  if (out.size() >= content.size()) return std::nullopt;
  return out;
}

std::optional<std::string> Decompress(std::string_view compressed,
                                      size_t limit) {
  const Zlib* zlib = TheZlib();
  uint32_t length = 0;
  if (zlib == nullptr || compressed.size() <= sizeof(length)) {
    return std::nullopt;
  }
  memcpy(&length, compressed.data(), sizeof(length));
  compressed.remove_prefix(sizeof(length));
  if (length > limit || length / kMaxExpansion > compressed.size()) {
    return std::nullopt;
  }
  std::string out(length, '\0');
  unsigned long size = length;
  if (zlib->uncompress(Unsigned(out.data()), &size, Unsigned(compressed.data()),
                       compressed.size()) != kOk ||
      size != length) {
    return std::nullopt;
  }
  return out;
}

}  // namespace canopy
