// The shares of jobs in tables that all jobs use.
#ifndef CANOPY_SERVER_CORE_STEP_SHARE_H_
#define CANOPY_SERVER_CORE_STEP_SHARE_H_

#include <cstddef>

namespace canopy::core {

// Returns whether a job that has `own` of the `all` entries of a table for
// `total` entries may have one more. A job may have half of the entries that
// the others leave free. So it never takes all free entries, and each further
// job finds some.
constexpr bool HasShare(size_t total, size_t all, size_t own) {
  const size_t others = all - own;
  return others < total && own < (total - others + 1) / 2;
}

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_SHARE_H_
