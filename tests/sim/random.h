// The one source of randomness of a simulated cluster.
#ifndef CANOPY_TESTS_SIM_RANDOM_H_
#define CANOPY_TESTS_SIM_RANDOM_H_

#include <cstdint>
#include <random>

#include "tests/sim/settings.h"

namespace canopy::sim {

// A seed replays because everything is drawn from here, in the order of events:
// a draw that is added, left out or moved makes every seed another run.
class Random {
 public:
  // `options` must outlive it.
  Random(uint64_t seed, const Options& options)
      : options_(options), engine_(seed) {}

  // Less than n; n > 0.
  uint64_t Below(uint64_t n) { return engine_() % n; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  // How long one message takes, or `times` of them after another at most.
  TimeNs Delay(uint64_t times = 1) {
    return static_cast<TimeNs>(
        Below(times * static_cast<uint64_t>(options_.max_delay)));
  }
  std::mt19937_64& engine() { return engine_; }

 private:
  const Options& options_;
  std::mt19937_64 engine_;
};

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_RANDOM_H_
