// The wire bytes of tests, written as hexadecimal text.
#ifndef CANOPY_TESTS_CODEC_HEX_H_
#define CANOPY_TESTS_CODEC_HEX_H_

#include <string>
#include <string_view>

namespace canopy {

// Blanks between digits are ignored.
inline std::string Unhex(std::string_view text) {
  std::string bytes;
  int high = -1;
  for (const char c : text) {
    if (c == ' ') continue;
    const int digit = c <= '9' ? c - '0' : c - 'a' + 10;
    if (high < 0) {
      high = digit;
    } else {
      bytes.push_back(static_cast<char>(high << 4 | digit));
      high = -1;
    }
  }
  return bytes;
}

}  // namespace canopy

#endif  // CANOPY_TESTS_CODEC_HEX_H_
