// Process sets: names for lists of processes. They are defined for applications
// or by processes, and known to every agent until the job that owns them is
// over (docs/design/host_calls.md).
#ifndef CANOPY_SERVER_CORE_PSET_PROCESS_SETS_H_
#define CANOPY_SERVER_CORE_PSET_PROCESS_SETS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/ids.h"
#include "server/core/engine.h"
#include "server/core/job/resync.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/step/client_inputs.h"
#include "server/core/step/step_context.h"

namespace canopy::core {

// Limits: the sets that an agent knows, of which a job defines at most its
// share (HasShare); the members of a set; the bytes of a name. Definitions of
// local processes that exceed the limits are refused (kErrOutOfResource); those
// of other agents are ignored.
inline constexpr size_t kMaxProcessSets = 4096;
inline constexpr size_t kMaxSetMembers = 65536;
inline constexpr size_t kMaxSetName = 255;

// A set is announced by an agent's event PMIX_PROCESS_SET_DEFINE, and ends with
// PMIX_PROCESS_SET_DELETE. Successors learn of the set from the agents' caches
// of events and from the journal of the owning job. Not synchronised.
class ProcessSets final : public Engine {
 public:
  struct Set {
    std::string owner;           // the job that owns the set
    ProcId definer;              // the process that has defined it
    uint64_t event = 0;          // number of the event that announced it
    NodeId raised_at = kNoNode;  // the agent that has raised the event
    std::vector<ProcId> members;
    uint64_t user = 0;  // user of the owner, plus 1; 0: unknown, or the host
  };

  // The table must outlive this object.
  explicit ProcessSets(const JobTable& jobs) : jobs_(jobs) {}

  // Checks a set that the job `owner` defines. Returns kErrBadParam for a name
  // that is empty, too long, the name of a job or a possible job name of any
  // overlay, and for ranks that do not exist; kErrExists for the name of
  // another set; kErrNotFound for members of jobs unknown to this agent;
  // kErrOutOfResource beyond the limits.
  int Check(const std::string& owner, const std::string& name,
            const std::vector<ProcId>& members) const;

  // Returns whether the process has defined the set with that `id`.
  bool IsDefined(const ProcId& definer, uint64_t id,
                 const std::string& name) const;

  // Returns the event that announces the set. `id` distinguishes the set from
  // the other sets that the process defines. Wildcards are resolved.
  EventRaised Define(const ProcId& definer, uint64_t id,
                     const std::string& name,
                     const std::vector<ProcId>& members) const;
  // Returns the events for the sets of a job's applications. Every agent makes
  // the same identity for them.
  std::vector<EventRaised> OfApplications(const Job& job) const;
  // Returns the events for the sets that end with the job.
  std::vector<EventRaised> DeletionsOf(const std::string& nspace) const;

  void OnJobRemoved(const StepContext& /*step*/,
                    const RemovedJob& job) override {
    Drop(job.nspace);
  }
  // Drops the sets of a job that is over.
  void Drop(const std::string& nspace);
  // Called if the job was over when this agent learned of its sets. Posts a
  // LateSetEnded for each set of the job.
  void EndLate(const std::string& nspace);

  // Handles an event of any agent that is new to this agent. Returns true if it
  // announces a new set.
  bool OnEvent(const EventMessage& event);

  void Count(ResourceCounts* counts) const override {
    counts->process_sets = sets_.size();
  }
  // Returns the sets by name, ascending.
  const std::map<std::string, Set>& sets() const { return sets_; }

 private:
  std::vector<ProcId> Resolve(const std::vector<ProcId>& members) const;
  // Returns the user of a job or tool as in EventMessage.
  uint64_t UserOf(const ProcId& definer) const;
  bool HasRoomFor(const std::string& owner) const;

  const JobTable& jobs_;
  std::map<std::string, Set> sets_;
  // Jobs whose sets have ended by events that may have overtaken the
  // definitions of other sets.
  RecentJobs over_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_PSET_PROCESS_SETS_H_
