// The secret that all agents of a cluster share. Its possession proves
// membership.
#ifndef CANOPY_SERVER_SECURITY_CLUSTER_KEY_H_
#define CANOPY_SERVER_SECURITY_CLUSTER_KEY_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/status.h"

namespace canopy::security {

// Size of SHA-256 digests, keys and nonces.
inline constexpr size_t kDigestBytes = 32;

// 32 random bytes. Value type; thread-safe after construction. The bytes never
// appear in a log, an error message or the result of a ToString.
class ClusterKey {
 public:
  // Returns a new key from the system's random source; kError if that fails.
  static Result<ClusterKey> Generate();
  // Parses 64 hexadecimal digits; surrounding white space is ignored. Returns
  // kErrBadParam for any other text.
  static Result<ClusterKey> FromHex(std::string_view hex);
  // Loads a file with the hexadecimal form. The file must be a regular file of
  // this user or root, without access for group and others. kErrNotFound: there
  // is no such file; kErrNoPermissions: the file cannot be opened, belongs to
  // another user, or can be used by others; kErrBadParam: it is not a regular
  // file or its content is not a key; kError: another failure of the system.
  static Result<ClusterKey> Load(const std::string& path);

  // Creates `path`, mode 0600, with the hexadecimal form. Returns kErrExists,
  // and changes nothing, if the file exists; kErrNotFound if its directory does
  // not exist; kErrNoPermissions if it may not be created; and kError for
  // another failure of the system.
  Status Save(const std::string& path) const;
  // Returns the form that FromHex parses: 64 hexadecimal digits.
  std::string ToHex() const;

  // Returns the HMAC-SHA256 of `text` under this key: kDigestBytes bytes.
  std::string Hmac(std::string_view text) const;
  // Returns the HKDF-SHA256 (RFC 5869) output for a purpose. `length` is at
  // most 255 * 32.
  std::string Derive(std::string_view purpose, size_t length) const;

 private:
  explicit ClusterKey(const std::array<uint8_t, kDigestBytes>& bytes)
      : bytes_(bytes) {}

  std::array<uint8_t, kDigestBytes> bytes_;
};

// Compares in a time that depends only on the lengths.
bool EqualInConstantTime(std::string_view a, std::string_view b);

// Returns n bytes from the system's random source; empty if that fails.
std::string RandomBytes(size_t n);

}  // namespace canopy::security

#endif  // CANOPY_SERVER_SECURITY_CLUSTER_KEY_H_
