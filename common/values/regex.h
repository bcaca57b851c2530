// The compact texts in which lists of nodes, and of ranks per node, travel to
// other programs: "pmix[node[3:1-3],gpu01]" and "raw:0,1;2,3".
#ifndef CANOPY_COMMON_VALUES_REGEX_H_
#define CANOPY_COMMON_VALUES_REGEX_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace canopy {

// Expanding gives at most this many names, and one range that many numbers.
inline constexpr size_t kMaxExpandedNames = 1 << 20;
inline constexpr size_t kMaxRange = 1 << 24;

// A comma-separated list of node names, shortened. Names that differ only in
// one number and follow each other share an entry; the order is kept.
std::string CompressNodeList(std::string_view names);

// The names of a list made by CompressNodeList or by other PMIx libraries, in
// order; a text that has no "pmix[" or "raw:" in front is a plain list.
// Nothing when it is malformed or too long.
std::optional<std::vector<std::string>> ExpandNodeList(std::string_view regex);

// Ranks per node: nodes separated by semicolons, ranks by commas, ranges such
// as "0-3" allowed. Written as it is, with a mark in front.
std::string CompressRankMap(std::string_view map);

// The plain list that CompressNodeList takes.
std::string JoinNames(std::span<const std::string> names);

}  // namespace canopy

#endif  // CANOPY_COMMON_VALUES_REGEX_H_
