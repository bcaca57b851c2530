// What the processes of a simulated job do, one after the other.
#ifndef CANOPY_TESTS_SIM_SOAK_PLAN_H_
#define CANOPY_TESTS_SIM_SOAK_PLAN_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "common/job.h"
#include "tests/sim/cluster.h"

namespace canopy::sim {

// What every process of a job does next.
struct Op {
  // kConnect: some connect, and disconnect again. kNames: everybody publishes,
  // looks up and unpublishes.
  enum class Kind {
    kCommit,
    kFence,
    kCollect,
    kSome,
    kGet,
    kForeign,
    kConnect,
    kSpawn,  // by rank 0
    kNames,
  };
  Kind kind = Kind::kCommit;
  uint32_t number = 0;
  std::vector<ProcId> some;  // of kSome and kConnect
};

struct PlannedJob {
  JobSpec spec;
  std::vector<Op> script;
  bool strict = false;  // its processes end with an error when they see one
  bool launched = false;
  NodeId controller = kNoNode;
  // Something happened that may end it other than well.
  bool harmed = false;
  bool stopped = false;  // one of its processes stands still for ever
  uint32_t signals = 0;  // sent to all of it
  // Its processes that take input end after the end of it.
  bool takes_input = false;
  uint64_t pieces_left = 0;  // of its input
};

// One to five phases for a job of so many ranks.
std::vector<Op> MakeScript(std::mt19937_64& rng, const std::string& nspace,
                           Rank ranks);
// Adds one to three kNames.
void AddNames(std::mt19937_64& rng, std::vector<Op>* script);

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_SOAK_PLAN_H_
