// Checks and escapes text from untrusted sources that is shown to people or put
// into messages.
#ifndef CANOPY_COMMON_TEXT_H_
#define CANOPY_COMMON_TEXT_H_

#include <string>
#include <string_view>

namespace canopy {

// Returns true for well-formed UTF-8, which texts in messages must be.
bool IsUtf8(std::string_view text);

// Returns the text as one printable line of UTF-8. Control characters and bytes
// that are not UTF-8 become "\n", "\t" or "\xNN"; everything else, including a
// backslash, is unchanged.
std::string Printable(std::string_view text);

}  // namespace canopy

#endif  // CANOPY_COMMON_TEXT_H_
