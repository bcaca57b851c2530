// The input that is pushed to simulated processes, and what they have read of
// it.
#ifndef CANOPY_TESTS_SIM_PUSHED_INPUT_H_
#define CANOPY_TESTS_SIM_PUSHED_INPUT_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/ids.h"

namespace canopy::sim {

// The input of one job. Every push must be read whole and once, and the pushes
// of each pusher in order.
class PushedInput {
 public:
  // Returns the pusher's next push, which has at least `size` bytes.
  std::string Push(const ProcId& pusher, uint64_t size);
  // The pusher was notified that its first `count` pushes were taken.
  void OnTaken(const ProcId& pusher, uint64_t count) {
    uint64_t& taken = taken_[pusher];
    taken = std::max(taken, count);
  }
  // The pusher was notified that a push has failed.
  void OnRefused(const ProcId& pusher, uint64_t number) {
    refused_.insert({pusher, number});
  }
  // Returns how many pushes a pusher has made.
  uint64_t count(const ProcId& pusher) const;
  // The job has another controller: pushes that were not taken by then may be
  // read twice.
  void MayRepeat() { repeats_ = true; }

  void OnRead(Rank rank, std::string_view data) { read_[rank] += data; }
  // Returns errors in what a rank that ends now has read. `ended`: it has seen
  // the end of its input.
  std::vector<std::string> Check(Rank rank, bool ended) const;

 private:
  struct Place {
    ProcId pusher;
    uint64_t number = 0;
  };

  std::map<std::string, Place> pushes_;  // by their bytes
  std::map<ProcId, uint64_t> made_;
  std::map<ProcId, uint64_t> taken_;
  std::set<std::pair<ProcId, uint64_t>> refused_;
  std::map<Rank, std::string> read_;
  bool repeats_ = false;
};

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_PUSHED_INPUT_H_
