// String utilities of the command-line parsers.
#ifndef CANOPY_COMMON_STRING_UTIL_H_
#define CANOPY_COMMON_STRING_UTIL_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace canopy {

// Parts between `separator`; as many as there are separators and one more.
std::vector<std::string> Split(std::string_view text, char separator);
std::string Join(std::span<const std::string> parts,
                 std::string_view separator);
// Without white space at both ends.
std::string_view Trim(std::string_view text);

// A whole decimal number up to `max`; anything else gives no value.
std::optional<uint32_t> ParseNumber(std::string_view text,
                                    uint32_t max = UINT32_MAX);

// The one of `known` that is most probably meant by `word`: nearest by edits
// (insert, remove, replace, swap of neighbours), and near enough for its
// length. Empty when there is none.
std::string_view Nearest(std::string_view word,
                         std::span<const std::string_view> known);

// The text as one word of a POSIX shell, quoted only where it must be.
std::string ShellQuoted(std::string_view text);

// Words of a line as a shell would split it: white space separates, single and
// double quotes and backslashes protect; nothing is expanded. No value: a
// quote is not closed.
std::optional<std::vector<std::string>> SplitCommand(std::string_view line);

}  // namespace canopy

#endif  // CANOPY_COMMON_STRING_UTIL_H_
