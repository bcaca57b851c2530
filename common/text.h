// Texts that go to people and into messages, made of bytes that anybody chose.
#ifndef CANOPY_COMMON_TEXT_H_
#define CANOPY_COMMON_TEXT_H_

#include <string>
#include <string_view>

namespace canopy {

// True for well-formed UTF-8, which is what texts in messages must be.
bool IsUtf8(std::string_view text);

// The text as one printable line of UTF-8: "\n", "\t", and "\xNN" for other
// control characters and for bytes that are not UTF-8. Anything else, a
// backslash too, stays.
std::string Printable(std::string_view text);

}  // namespace canopy

#endif  // CANOPY_COMMON_TEXT_H_
