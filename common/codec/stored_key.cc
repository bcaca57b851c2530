#include "common/codec/stored_key.h"

#include <cstdint>

namespace canopy {
namespace {

// Keys up to this size are a part of the name as they are; of a longer one its
// beginning and a hash.
constexpr size_t kMaxWhole = 256;
constexpr size_t kKept = 240;

// FNV-1a, as agents of all releases compute it.
uint64_t HashOf(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  return hash;
}

void PutHash(std::string_view bytes, std::string* out) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const uint64_t hash = HashOf(bytes);
  for (int shift = 60; shift >= 0; shift -= 4) {
    out->push_back(kDigits[(hash >> shift) & 15]);
  }
}

void PutBounded(std::string_view key, std::string* out) {
  if (key.size() <= kMaxWhole) {
    out->append(key);
    return;
  }
  out->append(key.substr(0, kKept));
  PutHash(key, out);
}

}  // namespace

std::string ScopeNameOf(std::string_view key) {
  std::string name = "\x01s";
  PutBounded(key, &name);
  return name;
}

}  // namespace canopy
