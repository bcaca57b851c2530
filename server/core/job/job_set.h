// The jobs in which an agent takes part. Each has the agent's part, and its
// head if this agent controls the job.
#ifndef CANOPY_SERVER_CORE_JOB_JOB_SET_H_
#define CANOPY_SERVER_CORE_JOB_JOB_SET_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/job.h"
#include "common/status.h"
#include "server/core/job/head.h"
#include "server/core/job/part.h"
#include "server/core/job/restarts.h"
#include "server/core/job/resync.h"
#include "server/core/job/step.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/step/process_inputs.h"

namespace canopy::core {

struct JobEntry {
  // The arguments are those of JobPart.
  JobEntry(JobTable& table, const Job& entry, JobPlace place,
           const JobPrepare& prepare, bool persists)
      : part(table, entry, std::move(place), prepare, persists),
        restarts(part.spec()->max_restarts) {}

  JobPart part;
  Restarts restarts;              // restarts of the local ranks
  std::unique_ptr<JobHead> head;  // null unless this agent controls the job
  // Messages for the next part of this agent in the job. They are handled when
  // the present part, which is being released, has ended.
  std::vector<std::pair<NodeId, MessageBody>> deferred;

  bool releasing() const { return part.state() == JobPartState::kReleasing; }
};

// Each function of the section "ending" is one way of the table "How a job
// ends" in docs/design/job_states.md. Not synchronised.
class JobSet {
 public:
  // All references outlive the set. The set adds jobs to the table, marks there
  // the ranks that have ended, and removes jobs.
  JobSet(NodeId self, const std::vector<std::string>& node_names,
         const Tree& tree, JobTable& table, JobResync& resync);

  void set_persists(bool persists) { persists_ = persists; }

  // Return the job; null if this agent does not have it. FindControlled also
  // returns null if this agent does not control the job. The pointer is valid
  // until the job is dropped.
  JobEntry* Find(const std::string& nspace);
  JobEntry* FindControlled(const std::string& nspace);
  const JobEntry* Find(const std::string& nspace) const;
  // Calls `visit` for each job. `visit` may drop jobs; a dropped job is
  // skipped.
  void ForEach(const std::function<void(JobEntry&)>& visit);
  const std::map<std::string, std::unique_ptr<JobEntry>>& entries() const {
    return entries_;
  }

  // ------------------------------------------------------------ beginning ---

  // Returns an error with the reason if this agent cannot launch the job.
  Status MayLaunch(const JobSpec& spec) const;
  void Launch(const JobStep& step, const LaunchRequested& in);
  // Creates the part that the parent has assigned in a new job.
  void TakePart(const JobStep& step, const std::shared_ptr<const JobSpec>& spec,
                const JobPrepare& m);
  // Restores a job of the predecessor.
  void Recover(const JobStep& step, const JobRecovered& in);

  // ------------------------------------------------------------- meantime ---

  // Advances the job as far as its inputs allow. The job may be dropped.
  void Advance(const JobStep& step, JobEntry& job);
  void RecordExit(const JobStep& step, JobEntry& job, const ProcExit& exit);
  // Returns whether a new process follows the failed process of a local rank.
  static bool MayRestart(const JobEntry& job, const ProcExit& exit) {
    return job.restarts.Allows(exit) && job.part.MayRestart(exit.rank);
  }
  // Handles the exit of a local rank. With `final`, no process can follow.
  // Returns false if the job was dropped.
  [[nodiscard]] bool OnLocalExit(const JobStep& step, JobEntry& job,
                                 const ProcExit& exit, bool final);
  // Handles output of a local rank. Returns false if the job was dropped.
  bool OnLocalOutput(const JobStep& step, JobEntry& job, const LocalOutput& in);
  // Starts the processes whose restart is due. The job may be dropped.
  void RestartDue(const JobStep& step, JobEntry& job);
  void OnNodeLost(const JobStep& step, JobEntry& job, NodeId node,
                  const std::string& reason);
  // Called when the map of a job was added to the table. If this agent's part
  // in the job has ended before, the map was added again because a local client
  // refers to the job. No rank of the job lives on this node then, so the local
  // ranks are marked as ended.
  void OnMap(const std::string& nspace);

  // --------------------------------------------------------------- ending ---

  // Called when the job's head has reported the end of the job.
  void Finish(const JobStep& step, JobEntry& job);
  // Called when the controller, or an agent on the route to it, has released
  // the job.
  void Release(const JobStep& step, JobEntry& job);
  // Called when the controller is lost, or has no record of the job.
  void OnControllerLost(const JobStep& step, JobEntry& job,
                        const std::string& reason);

  // Returns the messages deferred for parts that have ended since the last
  // call, in order.
  std::vector<PeerMessage> TakeReleased();
  size_t size() const { return entries_.size(); }

 private:
  JobEntry& Add(const JobStep& step, const std::shared_ptr<const JobSpec>& spec,
                const JobPrepare& m);
  bool TakeOutput(const JobStep& step, JobEntry& job, const LocalOutput& in);
  void Drop(const JobStep& step, JobEntry& job);
  // Drops the part, which has no purpose any more. The map stays, because the
  // job is not over.
  void Leave(const JobEntry& job);
  void DropRecovered(const JobStep& step, const JobRecovered& in);

  const NodeId self_;
  const std::vector<std::string>& node_names_;
  const Tree& tree_;
  JobTable& table_;
  JobResync& resync_;
  bool persists_ = false;
  // The map is ordered, so that the order of effects does not depend on a hash.
  std::map<std::string, std::unique_ptr<JobEntry>> entries_;
  RecentJobs without_processes_;  // jobs whose local processes are gone
  std::vector<PeerMessage> released_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_JOB_SET_H_
