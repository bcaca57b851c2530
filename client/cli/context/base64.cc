#include "client/cli/context/base64.h"

#include <cstddef>
#include <cstdint>

namespace canopy::cli {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr size_t kBytes = 3;  // of one group
constexpr size_t kDigitsOfGroup = 4;
constexpr unsigned kDigitBits = 6;

// Returns the digits of a group, without padding. `bytes` has 1 to 3 bytes.
std::string Group(std::string_view bytes) {
  uint32_t bits = 0;
  for (size_t i = 0; i < kBytes; ++i) {
    bits = bits << 8 | (i < bytes.size() ? uint8_t(bytes[i]) : 0u);
  }
  std::string digits;
  for (size_t i = 0; i <= bytes.size(); ++i) {
    digits += kDigits[bits >> (kDigitBits * (kBytes - i)) & 63];
  }
  return digits;
}

}  // namespace

std::string Base64(std::string_view bytes) {
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += kBytes) {
    std::string group = Group(bytes.substr(at, kBytes));
    group.resize(kDigitsOfGroup, '=');
    text += group;
  }
  return text;
}

std::optional<std::string> FromBase64(std::string_view text) {
  std::string bytes;
  uint32_t bits = 0;
  unsigned count = 0;
  for (const char c : text.substr(0, text.find('='))) {
    const size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = bits << kDigitBits | static_cast<uint32_t>(digit);
    count += kDigitBits;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xff);
  }
  // There is one text for the bytes, so a shorter or longer one is damaged.
  if (Base64(bytes) != text) return std::nullopt;
  return bytes;
}

}  // namespace canopy::cli
