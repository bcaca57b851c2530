// The scripts of the processes of a simulated job.
#ifndef CANOPY_TESTS_SIM_SOAK_PLAN_H_
#define CANOPY_TESTS_SIM_SOAK_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "common/job.h"
#include "tests/sim/cluster.h"
#include "tests/sim/fault_matrix.h"

namespace canopy::sim {

// The next operation of every process of a job.
struct Op {
  // kConnect: some processes connect, also of several jobs, and disconnect
  // again. kNames: all publish, look up and unpublish. kSpawn, kAbort,
  // kControl, kQuery: operations of the first ranks. kGroup: some construct a
  // process group and destruct or leave it. kRegister, kEvent: a process that
  // has registered, or registers now, waits for the events that the first ranks
  // raise. kInvite: one process invites the others to a group. kSet: the first
  // ranks define process sets, and all are notified.
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
    kGroup,
    kRegister,
    kEvent,
    kControl,
    kQuery,
    kInvite,
    kSet,
  };
  Kind kind = Kind::kCommit;
  uint32_t number = 0;
  // The processes that kSome, kConnect, kAbort, kGroup, kControl and kInvite
  // concern.
  std::vector<ProcId> some;
  // For kGroup: the number of times that its members have constructed it
  // before, their directive, and the member that leaves it (an empty namespace:
  // none). For kInvite: the leader's directive, and the leader.
  uint32_t round = 0;
  std::string directive = {};
  ProcId leaver = {};
};

// Number of ranks of a job that spawn, abort, raise events and call the host.
inline constexpr Rank kActive = 3;

// An event that a process will raise.
struct PlannedEvent {
  ProcId source;
  uint8_t range = 0;
  std::vector<ProcId> targets;
  bool begun = false;
  bool raised = false;  // the call was answered
  std::map<ProcId, uint32_t> told;
};

// A process set that will be defined.
struct PlayedSet {
  ProcId definer;
  uint32_t number = 0;
  std::vector<ProcId> members;  // ascending
  bool begun = false;
  bool defined = false;  // the call was answered
  std::set<ProcId> told;
};

struct PlannedJob {
  JobSpec spec;
  std::vector<Op> script;
  // True if the job's processes end with an error when an operation fails.
  bool strict = false;
  // The jobs for whose processes this job's processes wait.
  std::set<PlannedJob*> partners;
  bool launched = false;
  NodeId controller = kNoNode;
  // True after a fault that may end the job with a failure.
  bool harmed = false;
  bool stopped = false;  // one process does nothing any more
  uint32_t signals = 0;  // sent to all ranks of the job
  // True if processes that consume input end after the end of the input.
  bool takes_input = false;
  uint64_t pieces_left = 0;  // pieces of input left to offer
};

// Returns a script of one to five phases for a job of `ranks` ranks.
std::vector<Op> MakeScript(std::mt19937_64& rng, const std::string& nspace,
                           Rank ranks);
// Adds one to three kNames operations.
void AddNames(std::mt19937_64& rng, std::vector<Op>* script);
// Adds three to five kConnect operations of some ranks of each job, in the same
// order to all jobs.
void AddMeetings(std::mt19937_64& rng,
                 const std::vector<std::unique_ptr<PlannedJob>>& jobs);
// Do the same with four to seven kGroup operations, and with one to three
// kEvent operations, whose events are added to `events` by status.
void AddGroups(std::mt19937_64& rng,
               const std::vector<std::unique_ptr<PlannedJob>>& jobs);
void AddEvents(std::mt19937_64& rng,
               const std::vector<std::unique_ptr<PlannedJob>>& jobs,
               std::map<int, PlannedEvent>* events);
int StatusOfEvent(size_t job, uint32_t number, Rank source);
// Add one to three kControl operations, or kQuery operations, to each job.
void AddControls(std::mt19937_64& rng,
                 const std::vector<std::unique_ptr<PlannedJob>>& jobs);
void AddQueries(std::mt19937_64& rng,
                const std::vector<std::unique_ptr<PlannedJob>>& jobs);
// Add one to three kInvite operations, and one to three kSet operations, whose
// sets are added to `sets` by name.
void AddInvitations(std::mt19937_64& rng,
                    const std::vector<std::unique_ptr<PlannedJob>>& jobs);
void AddSets(std::mt19937_64& rng,
             const std::vector<std::unique_ptr<PlannedJob>>& jobs,
             std::map<std::string, PlayedSet>* sets);
std::string NameOfSet(const ProcId& definer, uint32_t number);
// Makes the first job abort, near its end, some of its own ranks or some ranks
// of another job.
void AddAborts(std::mt19937_64& rng,
               const std::vector<std::unique_ptr<PlannedJob>>& jobs);

std::string OnceKey(const std::string& nspace, const std::string& number);
std::string ContestKey(const std::string& nspace, const std::string& number);

// The engines whose phases are rows of the matrix.
enum class Engine : uint8_t {
  kSpawn,
  kConnect,
  kNames,
  kAbort,
  kGroup,
  kEvent,
  kControl,
  kQuery,
};
Engine EngineOf(Phase phase);
// Returns whether the phase is short, so that few operations are in it at a
// given time.
bool IsShort(Phase phase);
// Returns cells of one engine that the run should contain.
std::vector<Cell> MakeAims(std::mt19937_64& rng, bool restarts, bool rejoins);
// Returns cells of the engine in which members leave.
std::vector<Cell> MakeMemberAims(std::mt19937_64& rng, Engine engine,
                                 bool restarts);

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_SOAK_PLAN_H_
