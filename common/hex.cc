#include "common/hex.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <system_error>

namespace canopy {

std::string ToHex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

std::optional<std::string> FromHex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 2);
  for (size_t i = 0; i < text.size(); i += 2) {
    uint8_t byte = 0;
    const char* const start = text.data() + i;
    const auto parsed = std::from_chars(start, start + 2, byte, 16);
    if (parsed.ec != std::errc() || parsed.ptr != start + 2) {
      return std::nullopt;
    }
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes;
}

}  // namespace canopy
