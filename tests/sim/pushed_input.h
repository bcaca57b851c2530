// The input that is pushed to simulated processes, and the input that they have
// read.
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

// The input of one job. Every push must be read completely and once, and the
// pushes of each pusher in order.
class PushedInput {
 public:
  // Returns the pusher's next push, which has at least `size` bytes.
  std::string Push(const ProcId& pusher, uint64_t size);
  // Records that the pusher was notified that its first `count` pushes were
  // consumed.
  void OnTaken(const ProcId& pusher, uint64_t count) {
    uint64_t& taken = taken_[pusher];
    taken = std::max(taken, count);
  }
  // Records that the pusher was notified that a push has failed.
  void OnRefused(const ProcId& pusher, uint64_t number) {
    refused_.insert({pusher, number});
  }
  // Returns the number of pushes that a pusher has made.
  uint64_t count(const ProcId& pusher) const;
  // Called when the job has a new controller. Pushes that were not consumed by
  // then may be read twice.
  void MayRepeat() { repeats_ = true; }

  void OnRead(Rank rank, std::string_view data) { read_[rank] += data; }
  // Returns the errors in the input that a rank has read. Called when the rank
  // ends. `ended` is true if the rank has read the end of its input.
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
