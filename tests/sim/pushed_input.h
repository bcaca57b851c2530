// What is pushed to simulated processes, and what they read of it.
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

// The input of one job: whole pushes, each pusher's in its order, and each
// once.
class PushedInput {
 public:
  // A pusher's next one: its bytes, some more than `size` of them.
  std::string Push(const ProcId& pusher, uint64_t size);
  // The pusher was told that what it has pushed up to now was taken.
  void OnTaken(const ProcId& pusher, uint64_t count) {
    uint64_t& taken = taken_[pusher];
    taken = std::max(taken, count);
  }
  // It was told that one has failed.
  void OnRefused(const ProcId& pusher, uint64_t number) {
    refused_.insert({pusher, number});
  }
  // How many a pusher has made.
  uint64_t count(const ProcId& pusher) const;
  // The agent that controls the job is another one: what was not taken then
  // may come twice.
  void MayRepeat() { repeats_ = true; }

  void OnRead(Rank rank, std::string_view data) { read_[rank] += data; }
  // What is wrong with what a rank has read that ends now; `ended`: it has seen
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
