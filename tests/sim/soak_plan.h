// What the processes of a simulated job do, one after the other.
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

// What every process of a job does next.
struct Op {
  // kConnect: some connect, also of several jobs, and disconnect again. kNames:
  // everybody publishes, looks up and unpublishes. kSpawn, kAbort: by the first
  // ranks. kGroup: some make a process group and end it, or leave it.
  // kRegister, kEvent: whoever has registered, or does so now, waits for the
  // events that the first ranks raise. kControl, kQuery: by the first ranks.
  // kInvite: one invites the others to a group. kSet: the first ranks define
  // process sets, of which all are told.
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
  // Of kSome, kConnect, kAbort, kGroup, kControl and kInvite.
  std::vector<ProcId> some;
  // Of kGroup: how often its members have made it before, what they ask for,
  // and who of them leaves it; an empty namespace: nobody. Of kInvite: what the
  // leader asks for, and who that is.
  uint32_t round = 0;
  std::string directive = {};
  ProcId leaver = {};
};

// Ranks of a job that spawn, abort, raise events and ask of the host.
inline constexpr Rank kActive = 3;

// An event that a process is to raise.
struct PlannedEvent {
  ProcId source;
  uint8_t range = 0;
  std::vector<ProcId> targets;
  bool begun = false;
  bool raised = false;  // the call was answered
  std::map<ProcId, uint32_t> told;
};

// A process set that is to be defined.
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
// Adds three to five kConnect of some of each job, in the same order to all.
void AddMeetings(std::mt19937_64& rng,
                 const std::vector<std::unique_ptr<PlannedJob>>& jobs);
// The same of four to seven kGroup, and of one to three kEvent, whose events are
// added by status.
void AddGroups(std::mt19937_64& rng,
               const std::vector<std::unique_ptr<PlannedJob>>& jobs);
void AddEvents(std::mt19937_64& rng,
               const std::vector<std::unique_ptr<PlannedJob>>& jobs,
               std::map<int, PlannedEvent>* events);
int StatusOfEvent(size_t job, uint32_t number, Rank source);
// One to three kControl or kQuery of each job.
void AddControls(std::mt19937_64& rng,
                 const std::vector<std::unique_ptr<PlannedJob>>& jobs);
void AddQueries(std::mt19937_64& rng,
                const std::vector<std::unique_ptr<PlannedJob>>& jobs);
// One to three kInvite, and one to three kSet, whose sets are added by name.
void AddInvitations(std::mt19937_64& rng,
                    const std::vector<std::unique_ptr<PlannedJob>>& jobs);
void AddSets(std::mt19937_64& rng,
             const std::vector<std::unique_ptr<PlannedJob>>& jobs,
             std::map<std::string, PlayedSet>* sets);
std::string NameOfSet(const ProcId& definer, uint32_t number);
// The first of them aborts some of its own or of another one, near its end.
void AddAborts(std::mt19937_64& rng,
               const std::vector<std::unique_ptr<PlannedJob>>& jobs);

std::string OnceKey(const std::string& nspace, const std::string& number);
std::string ContestKey(const std::string& nspace, const std::string& number);

// Engines, as rows of the matrix.
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
// Few operations are in it when an aim is taken.
bool IsShort(Phase phase);
// Cells of one engine that a run is to have.
std::vector<Cell> MakeAims(std::mt19937_64& rng, bool restarts, bool rejoins);

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_SOAK_PLAN_H_
