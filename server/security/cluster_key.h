// The secret that all agents of a cluster share. Knowing it is membership.
#ifndef CANOPY_SERVER_SECURITY_CLUSTER_KEY_H_
#define CANOPY_SERVER_SECURITY_CLUSTER_KEY_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/status.h"

namespace canopy::security {

// SHA-256 digests, keys and nonces.
inline constexpr size_t kDigestBytes = 32;

// 32 random bytes. Value type; thread-safe once made. Its bytes never appear
// in a log, an error message or ToString of anything.
class ClusterKey {
 public:
  // A new key from the system's random source.
  static Result<ClusterKey> Generate();
  // 64 hexadecimal digits; white space around them is ignored.
  static Result<ClusterKey> FromHex(std::string_view hex);
  // A file that holds the hexadecimal form. Refused unless it is a regular
  // file of this user (or root) that group and others can not touch.
  static Result<ClusterKey> Load(const std::string& path);

  // Makes `path`, mode 0600, with the hexadecimal form; an existing file is
  // left alone and is an error (kErrExists).
  Status Save(const std::string& path) const;
  std::string ToHex() const;

  // HMAC-SHA256 of `text` under this key: kDigestBytes bytes.
  std::string Hmac(std::string_view text) const;
  // HKDF-SHA256 (RFC 5869) output for a purpose. length <= 255 * 32.
  std::string Derive(std::string_view purpose, size_t length) const;

 private:
  explicit ClusterKey(const std::array<uint8_t, kDigestBytes>& bytes)
      : bytes_(bytes) {}

  std::array<uint8_t, kDigestBytes> bytes_;
};

// In time that depends on the lengths only.
bool EqualInConstantTime(std::string_view a, std::string_view b);

// n bytes of the system's random source; empty when that fails.
std::string RandomBytes(size_t n);

}  // namespace canopy::security

#endif  // CANOPY_SERVER_SECURITY_CLUSTER_KEY_H_
