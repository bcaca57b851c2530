#include "client/cli/context/key_bytes.h"

namespace canopy::cli {

Result<security::ClusterKey> ClusterKeyOf(const std::string& bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const char c : bytes) {
    hex += kDigits[(c >> 4) & 15];
    hex += kDigits[c & 15];
  }
  return security::ClusterKey::FromHex(hex);
}

}  // namespace canopy::cli
