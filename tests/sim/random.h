// The only source of randomness of a simulated cluster.
#ifndef CANOPY_TESTS_SIM_RANDOM_H_
#define CANOPY_TESTS_SIM_RANDOM_H_

#include <cstdint>
#include <random>

#include "tests/sim/settings.h"

namespace canopy::sim {

// Every random number is drawn here, in the order of events, so a seed can be
// replayed. A draw that is added, removed or moved changes the run of every
// seed.
class Random {
 public:
  // `options` must outlive this object.
  Random(uint64_t seed, const Options& options)
      : options_(options), engine_(seed) {}

  // Returns a number less than n; n > 0.
  uint64_t Below(uint64_t n) { return engine_() % n; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  // Returns the delay of one message, or of up to `times` messages in a row.
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
