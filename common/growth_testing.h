// Support for tests of how a cost grows with the size of the input. The tests
// compare the CPU time of the calling thread at two sizes, so the speed of the
// machine and its other load do not matter.
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

// The ratio of the two sizes that GrowthOf compares.
inline constexpr size_t kGrowthFactor = 8;
// GrowthOf returns less than this for work in O(n log n), and about
// kGrowthFactor squared, 64, for work in O(n^2).
inline constexpr double kAlmostLinear = 24;

// Returns the cost of work(kGrowthFactor * n) divided by the cost of work(n),
// each the best of several runs. work(n) should take a few milliseconds at most
// if it is cheap.
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
