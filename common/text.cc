#include "common/text.h"

#include <cstddef>
#include <cstdint>

namespace canopy {
namespace {

// Returns the size of the well-formed character at the front of `text`, or 0.
size_t CharacterSize(std::string_view text) {
  const auto lead = static_cast<uint8_t>(text[0]);
  const size_t size = lead < 0x80             ? 1
                      : (lead & 0xe0) == 0xc0 ? 2
                      : (lead & 0xf0) == 0xe0 ? 3
                      : (lead & 0xf8) == 0xf0 ? 4
                                              : 0;
  if (size == 0 || size > text.size()) return 0;
  uint32_t code = size == 1 ? lead : lead & (0x7fu >> size);
  for (size_t k = 1; k < size; ++k) {
    const auto next = static_cast<uint8_t>(text[k]);
    if ((next & 0xc0) != 0x80) return 0;
    code = code << 6 | (next & 0x3f);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return code < kSmallest[size] || code > 0x10ffff || surrogate ? 0 : size;
}

std::string Escaped(char c) {
  if (c == '\n') return "\\n";
  if (c == '\t') return "\\t";
  static const char kDigits[] = "0123456789abcdef";
  return {'\\', 'x', kDigits[(c >> 4) & 15], kDigits[c & 15]};
}

}  // namespace

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t size = CharacterSize(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::string Printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t size = CharacterSize(text);
    const auto first = static_cast<uint8_t>(text[0]);
    if (size == 0 || first < 0x20 || first == 0x7f) {
      out += Escaped(text[0]);
      text.remove_prefix(1);
    } else {
      out += text.substr(0, size);
      text.remove_prefix(size);
    }
  }
  return out;
}

}  // namespace canopy
