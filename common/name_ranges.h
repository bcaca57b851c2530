// Lists of names with ranges of numbers, as clusters write them:
// "n[001-128,200]" is n001 to n128 and n200.
#ifndef CANOPY_COMMON_NAME_RANGES_H_
#define CANOPY_COMMON_NAME_RANGES_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace canopy {

// No list has more names than this, whatever its ranges contain.
inline constexpr size_t kMaxListedNames = 65536;

// Splits at the commas that are outside brackets. The parts refer to `text`; an
// empty text gives one empty part.
std::vector<std::string_view> SplitOutsideBrackets(std::string_view text);

// Appends to `names` the names that `part` stands for: the text before the
// first bracket, combined with each number in the bracket and each expansion of
// the rest. Numbers keep their leading zeros. Returns false if `part` is empty,
// if a bracket has no counterpart, if a range descends or does not consist of
// numbers, or if `names` would exceed kMaxListedNames.
bool ExpandNames(std::string_view part, std::vector<std::string>* names);

}  // namespace canopy

#endif  // CANOPY_COMMON_NAME_RANGES_H_
