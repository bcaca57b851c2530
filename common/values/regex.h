// The compact texts that carry lists of nodes, and of ranks per node, to other
// programs: "pmix[node[3:1-3],gpu01]" and "raw:0,1;2,3".
#ifndef CANOPY_COMMON_VALUES_REGEX_H_
#define CANOPY_COMMON_VALUES_REGEX_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace canopy {

// Bounds of an expansion: the number of names in total, and of numbers in one
// range.
inline constexpr size_t kMaxExpandedNames = 1 << 20;
inline constexpr size_t kMaxRange = 1 << 24;

// Shortens a comma-separated list of node names. Consecutive names that differ
// only in one number share an entry; the order is kept.
std::string CompressNodeList(std::string_view names);

// Returns the names of a list that CompressNodeList or another PMIx library has
// made, in order. A text that begins with neither "pmix[" nor "raw:" is a plain
// list. Returns no value if the text is malformed or exceeds the bounds above.
std::optional<std::vector<std::string>> ExpandNodeList(std::string_view regex);

// Encodes the ranks per node. In `map`, semicolons separate nodes and commas
// separate ranks; ranges such as "0-3" are allowed. The result is `map` after
// "raw:".
std::string CompressRankMap(std::string_view map);

// Joins names into the plain list that CompressNodeList takes.
std::string JoinNames(std::span<const std::string> names);

}  // namespace canopy

#endif  // CANOPY_COMMON_VALUES_REGEX_H_
