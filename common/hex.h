// Converts bytes to hexadecimal digits, two for each byte.
#ifndef CANOPY_COMMON_HEX_H_
#define CANOPY_COMMON_HEX_H_

#include <optional>
#include <string>
#include <string_view>

namespace canopy {

std::string ToHex(std::string_view bytes);  // in lower case

// Accepts digits of either case. Returns no value if `text` is not hexadecimal.
std::optional<std::string> FromHex(std::string_view text);

}  // namespace canopy

#endif  // CANOPY_COMMON_HEX_H_
