// What the processes of a simulated job do, one after the other.
#ifndef CANOPY_TESTS_SIM_SOAK_PLAN_H_
#define CANOPY_TESTS_SIM_SOAK_PLAN_H_

#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "common/job.h"
#include "tests/sim/cluster.h"
#include "tests/sim/fault_matrix.h"

namespace canopy::sim {

// What every process of a job does next.
struct Op {
  // kConnect: some connect, also of several jobs, and disconnect again. kNames:
  // everybody publishes, looks up and unpublishes. kSpawn, kAbort: by the first
  // ranks.
  enum class Kind {
    kCommit,
    kFence,
    kCollect,
    kSome,
    kGet,
    kForeign,
    kConnect,
    kSpawn,
    kNames,
    kAbort,
  };
  Kind kind = Kind::kCommit;
  uint32_t number = 0;
  std::vector<ProcId> some;  // of kSome, kConnect and kAbort
};

struct PlannedJob {
  JobSpec spec;
  std::vector<Op> script;
  bool strict = false;  // its processes end with an error when they see one
  std::set<PlannedJob*> partners;  // its processes wait for theirs
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
// Adds one to three kConnect of some of each job, in the same order to all.
void AddMeetings(std::mt19937_64& rng,
                 const std::vector<std::unique_ptr<PlannedJob>>& jobs);
// The first of them aborts some of its own or of another one, near its end.
void AddAborts(std::mt19937_64& rng,
               const std::vector<std::unique_ptr<PlannedJob>>& jobs);

std::string OnceKey(const std::string& nspace, const std::string& number);
std::string ContestKey(const std::string& nspace, const std::string& number);

// Engines, as rows of the matrix.
enum class Engine : uint8_t { kSpawn, kConnect, kNames, kAbort };
Engine EngineOf(Phase phase);
// Few operations are in it when an aim is taken.
bool IsShort(Phase phase);
// Cells of one engine that a run is to have.
std::vector<Cell> MakeAims(std::mt19937_64& rng, bool restarts, bool rejoins);

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_SOAK_PLAN_H_
