// Durations as people type them.
#ifndef CANOPY_COMMON_DURATION_TEXT_H_
#define CANOPY_COMMON_DURATION_TEXT_H_

#include <chrono>
#include <optional>
#include <string_view>

namespace canopy {

// The longest duration that is understood.
inline constexpr std::chrono::hours kLongestDuration{24 * 366};

// Parses seconds ("90", "0.5"), a number with a unit ("500ms", "90s", "10m",
// "2h", "1d"; a fraction is allowed) or a clock ("1:30" is a minute and a half,
// "1:00:00" an hour). Digits beyond the millisecond are ignored. Returns no
// value if the text is none of these or longer than kLongestDuration.
std::optional<std::chrono::milliseconds> ParseDuration(std::string_view text);

// Parses the time limit of Slurm's commands, in which a plain number is
// minutes: "M", "M:S", "H:M:S", "D-H", "D-H:M" or "D-H:M:S". Returns no value
// for other text and for a duration longer than kLongestDuration.
std::optional<std::chrono::milliseconds> ParseSlurmDuration(
    std::string_view text);

}  // namespace canopy

#endif  // CANOPY_COMMON_DURATION_TEXT_H_
