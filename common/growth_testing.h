// For tests of how the cost of something grows with its size: the CPU time of
// the calling thread at two sizes is compared, so that neither the speed of the
// machine nor what else runs on it matters.
#ifndef CANOPY_COMMON_GROWTH_TESTING_H_
#define CANOPY_COMMON_GROWTH_TESTING_H_

#include <time.h>

#include <algorithm>
#include <cstddef>

namespace canopy {

inline double ThreadCpuSeconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// How much the two sizes of GrowthOf differ.
inline constexpr size_t kGrowthFactor = 8;
// What GrowthOf gives is below this for work in O(n log n), and about
// kGrowthFactor squared, 64, for work in O(n^2).
inline constexpr double kAlmostLinear = 24;

// How much more work(kGrowthFactor * n) costs than work(n), the best of several
// runs each. work(n) must take some milliseconds at most when it is cheap.
template <typename F>
double GrowthOf(size_t n, F work) {
  const auto best_of = [&work](size_t size, int runs) {
    double best = 1e9;
    for (int run = 0; run < runs; ++run) {
      const double start = ThreadCpuSeconds();
      work(size);
      best = std::min(best, ThreadCpuSeconds() - start);
    }
    return best;
  };
  return best_of(kGrowthFactor * n, 3) / best_of(n, 10);
}

}  // namespace canopy

#endif  // CANOPY_COMMON_GROWTH_TESTING_H_
