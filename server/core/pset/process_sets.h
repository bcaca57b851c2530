// Process sets: names for lists of processes, of applications or defined by
// processes, known to every agent until the job that they are of is over
// (docs/design/host_calls.md).
#ifndef CANOPY_SERVER_CORE_PSET_PROCESS_SETS_H_
#define CANOPY_SERVER_CORE_PSET_PROCESS_SETS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/ids.h"
#include "server/core/job/resync.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/step/client_inputs.h"

namespace canopy::core {

// Sets that an agent knows, members of one, and bytes of a name; what is more
// is refused (kErrOutOfResource), and what other agents say of more is not
// heeded.
inline constexpr size_t kMaxProcessSets = 4096;
inline constexpr size_t kMaxSetMembers = 65536;
inline constexpr size_t kMaxSetName = 255;

// A set is made known by the event PMIX_PROCESS_SET_DEFINE of an agent, and
// ends with PMIX_PROCESS_SET_DELETE: the agents' caches of events and the
// journal of the job that it is of bring it to their successors. Not
// synchronised.
class ProcessSets {
 public:
  struct Set {
    std::string owner;           // the job that it is of
    ProcId definer;              // who has defined it
    uint64_t event = 0;          // the number of its event
    NodeId raised_at = kNoNode;  // the agent that has raised that
    std::vector<ProcId> members;
  };

  // The table outlives it.
  explicit ProcessSets(const JobTable& jobs) : jobs_(jobs) {}

  // kErrBadParam for a name that is a job's, of whichever agents, or could
  // become one, for one that is empty or too long, and for ranks
  // that are not there; kErrExists for one that is another set's; kErrNotFound
  // for members of jobs that this agent does not know.
  int Check(const std::string& name, const std::vector<ProcId>& members) const;

  // Whether the process has defined it with that `id`.
  bool IsDefined(const ProcId& definer, uint64_t id,
                 const std::string& name) const;

  // The event that makes a set known. `id` tells this set from all others that
  // the process defines. Wildcards are resolved.
  EventRaised Define(const ProcId& definer, uint64_t id,
                     const std::string& name,
                     const std::vector<ProcId>& members) const;
  // Those of the applications of a job, which all agents know by the same
  // identity.
  std::vector<EventRaised> OfApplications(const Job& job) const;
  // Those that the end of the job ends.
  std::vector<EventRaised> DeletionsOf(const std::string& nspace) const;

  void OnJobRemoved(const std::string& nspace);
  // It was over when its sets became known here.
  void EndLate(const std::string& nspace);
  // The ends of such sets since the last call: for the root to raise.
  std::vector<EventRaised> TakeLate();

  // An event that this agent has not had before, its own or another's. True: a
  // set has become known by it.
  bool OnEvent(const EventMessage& event);

  // By name, ascending.
  const std::map<std::string, Set>& sets() const { return sets_; }

 private:
  std::vector<ProcId> Resolve(const std::vector<ProcId>& members) const;

  const JobTable& jobs_;
  std::map<std::string, Set> sets_;
  // Jobs of which sets have ended, by events that may have overtaken those of
  // other sets.
  RecentJobs over_;
  std::vector<EventRaised> late_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_PSET_PROCESS_SETS_H_
