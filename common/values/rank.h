// Ranks that callers pass as values.
#ifndef CANOPY_COMMON_VALUES_RANK_H_
#define CANOPY_COMMON_VALUES_RANK_H_

#include <cstdint>
#include <optional>

#include "common/ids.h"
#include "common/values/value.h"
#include "pmix_types.h"

namespace canopy {

// Reads a rank from a value of any integer type. Returns no value for any other
// value. The special ranks are the largest numbers of 32 bits. In a signed type
// they appear as small negative numbers: PRRTE's debuggers name all ranks by
// the PMIX_INT32 -2.
inline std::optional<Rank> RankOf(const pmix_value_t& v) {
  constexpr int64_t kBelowSpecial =
      int64_t{kRankValid} - (int64_t{UINT32_MAX} + 1);
  const auto number = Int64Of(v);
  if (!number || *number <= kBelowSpecial || *number > UINT32_MAX) {
    return std::nullopt;
  }
  return static_cast<Rank>(*number);
}

}  // namespace canopy

#endif  // CANOPY_COMMON_VALUES_RANK_H_
