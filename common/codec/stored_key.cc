#include "common/codec/stored_key.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <set>

#include "common/codec/encoder.h"
#include "common/values/info_list.h"

namespace canopy {
namespace {

// A key of up to kMaxWhole bytes is part of the name as it is. The name of a
// longer key has the key's first kKept bytes and a hash.
constexpr size_t kMaxWhole = 256;
constexpr size_t kKept = 240;

// With up to this number of qualifiers, a name has the hash of each qualifier,
// so that a request with some of them finds the value. With more qualifiers it
// has one hash of them all.
constexpr size_t kMaxQualifiers = 12;
constexpr size_t kHashDigits = 16;

// Returns the hash FNV-1a, as agents of all releases compute it.
uint64_t HashOf(std::string_view bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  }
  return hash;
}

std::string HashText(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const uint64_t hash = HashOf(bytes);
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) {
    text.push_back(kDigits[(hash >> shift) & 15]);
  }
  return text;
}

std::string Bounded(std::string_view key) {
  if (key.size() <= kMaxWhole) return std::string(key);
  return std::string(key.substr(0, kKept)) + HashText(key);
}

std::string HashOfQualifier(std::string_view key, std::string_view value) {
  std::string text(key);
  text.push_back('\0');
  text += value;
  return HashText(text);
}

// Returns the hash of each qualifier, sorted and without duplicates.
std::set<std::string> Qualifiers(std::span<const pmix_info_t> infos) {
  std::set<std::string> hashes;
  for (const pmix_info_t& info : infos) {
    if ((info.flags & PMIX_INFO_QUALIFIER) != 0) {
      hashes.insert(HashOfQualifier(KeyOf(info), EncodeValue(info.value)));
    }
  }
  return hashes;
}

std::string WithHashes(std::string_view key, std::string_view hashes) {
  const std::string bounded = Bounded(key);
  return ("\x01q" + std::to_string(bounded.size()) + ":" + bounded)
      .append(hashes);
}

// Returns true if `all` contains each of the hashes in `some`.
bool Includes(std::string_view all, std::string_view some) {
  for (; some.size() >= kHashDigits; some.remove_prefix(kHashDigits)) {
    bool found = false;
    for (size_t at = 0; at + kHashDigits <= all.size(); at += kHashDigits) {
      found |= all.substr(at, kHashDigits) == some.substr(0, kHashDigits);
    }
    if (!found) return false;
  }
  return some.empty();
}

}  // namespace

std::string ScopeNameOf(std::string_view key) { return "\x01s" + Bounded(key); }

std::string QualifiedNameOf(std::string_view key,
                            std::span<const pmix_info_t> infos) {
  const std::set<std::string> hashes = Qualifiers(infos);
  if (hashes.empty()) return std::string(key);
  std::string all;
  for (const std::string& hash : hashes) all += hash;
  if (hashes.size() > kMaxQualifiers) all = "+" + HashText(all);
  return WithHashes(key, all);
}

std::string QualifiedNameOf(std::string_view key, std::string_view qualifier,
                            std::string_view value) {
  return WithHashes(key, HashOfQualifier(qualifier, value));
}

std::string_view QualifiedPrefixOf(std::string_view name) {
  const size_t colon = name.find(':');
  size_t size = 0;
  if (colon == std::string_view::npos) return name;
  std::from_chars(name.data() + 2, name.data() + colon, size);
  return name.substr(0, colon + 1 + std::min(size, name.size()));
}

bool Satisfies(std::string_view stored, std::string_view wanted) {
  if (stored == wanted) return true;
  if (!IsQualifiedName(stored) || !IsQualifiedName(wanted)) return false;
  const std::string_view prefix = QualifiedPrefixOf(wanted);
  return stored.starts_with(prefix) && wanted.size() > prefix.size() &&
         Includes(stored.substr(prefix.size()), wanted.substr(prefix.size()));
}

}  // namespace canopy
