// Hash functions that spread keys and consecutive numbers evenly. All agents
// compute the same values.
#ifndef CANOPY_SERVER_CORE_PUBLISH_DIGEST_H_
#define CANOPY_SERVER_CORE_PUBLISH_DIGEST_H_

#include <cstdint>
#include <string_view>

namespace canopy::core {

// Returns the FNV-1a hash of the key.
inline uint64_t HashOf(std::string_view key) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : key) {
    hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  }
  return hash;
}

// The finaliser of SplitMix64: returns very different values for numbers that
// are close together.
inline uint64_t Mix(uint64_t v) {
  v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9;
  v = (v ^ (v >> 27)) * 0x94d049bb133111eb;
  return v ^ (v >> 31);
}

// Returns the digest of item `number` of a numbered sequence. `of_series` is
// the digest of the sequence's identity.
inline uint64_t DigestOf(uint64_t of_series, uint64_t number) {
  return Mix(Mix(of_series + 1) + number);
}

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_PUBLISH_DIGEST_H_
