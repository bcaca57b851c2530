// Bytes as hexadecimal digits, two each.
#ifndef CANOPY_COMMON_HEX_H_
#define CANOPY_COMMON_HEX_H_

#include <optional>
#include <string>
#include <string_view>

namespace canopy {

std::string ToHex(std::string_view bytes);  // in lower case

// Digits of either case. Nothing: it is no such text.
std::optional<std::string> FromHex(std::string_view text);

}  // namespace canopy

#endif  // CANOPY_COMMON_HEX_H_
