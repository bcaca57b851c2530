// String utilities.
#ifndef CANOPY_COMMON_STRING_UTIL_H_
#define CANOPY_COMMON_STRING_UTIL_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace canopy {

// Returns the parts between the separators; there is one part more than
// separators.
std::vector<std::string> Split(std::string_view text, char separator);
std::string Join(std::span<const std::string> parts,
                 std::string_view separator);
// Replaces each occurrence of `what`, which is not empty, by `by`; occurrences
// that arise from `by` stay.
void ReplaceAll(std::string* text, std::string_view what, std::string_view by);
// Returns the words of the text, which one or more of the characters
// `separators` separate, as views of it.
std::vector<std::string_view> WordsOf(std::string_view text,
                                      std::string_view separators = " \t\r\n");
// Returns the text without white space at both ends.
std::string_view Trim(std::string_view text);

// Parses a decimal number up to `max`. Returns no value if `text` is anything
// else.
std::optional<uint32_t> ParseNumber(std::string_view text,
                                    uint32_t max = UINT32_MAX);

// Returns the member of `known` that `word` most probably stands for: the
// nearest by edits (insert, remove, replace, swap of neighbours), if it is near
// enough for its length. Returns an empty view if there is none.
std::string_view Nearest(std::string_view word,
                         std::span<const std::string_view> known);

// Returns the text as one word of a POSIX shell, quoted only if necessary.
std::string ShellQuoted(std::string_view text);

// Splits a line into words as a shell does: white space separates, single and
// double quotes and backslashes protect. Nothing is expanded. Returns no value
// if a quote is not closed.
std::optional<std::vector<std::string>> SplitCommand(std::string_view line);

}  // namespace canopy

#endif  // CANOPY_COMMON_STRING_UTIL_H_
