// The jobs in which an agent takes part: each one's part, and its head where
// this agent controls it.
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
  // As for JobPart.
  JobEntry(JobTable& table, const Job& entry, JobPlace place,
           const JobPrepare& prepare, bool persists)
      : part(table, entry, std::move(place), prepare, persists),
        restarts(part.spec()->max_restarts) {}

  JobPart part;
  Restarts restarts;              // of its ranks here
  std::unique_ptr<JobHead> head;  // only at the agent that controls the job
  // Messages for the part that this agent takes when the present one, which is
  // being released, has ended.
  std::vector<std::pair<NodeId, MessageBody>> deferred;

  bool releasing() const { return part.state() == JobPartState::kReleasing; }
};

// A job ends in one of the ways of the table "How a job ends" in
// docs/design/job_states.md; each is one function here. Not synchronised.
class JobSet {
 public:
  // All references outlive the set. It adds jobs to the table, marks there who
  // ended, and removes them.
  JobSet(NodeId self, std::vector<std::string> node_names, const Tree& tree,
         JobTable& table, JobResync& resync);

  void set_persists(bool persists) { persists_ = persists; }

  // Pointers are valid until the job is dropped; null: not here, or not
  // controlled by this agent.
  JobEntry* Find(const std::string& nspace);
  JobEntry* FindControlled(const std::string& nspace);
  const JobEntry* Find(const std::string& nspace) const;
  // Calls `visit` for each job that is there at its turn.
  void ForEach(const std::function<void(JobEntry&)>& visit);
  const std::map<std::string, std::unique_ptr<JobEntry>>& entries() const {
    return entries_;
  }

  // ------------------------------------------------------------ beginning ---

  // Refuses a job that cannot be launched here, with the reason.
  Status MayLaunch(const JobSpec& spec) const;
  void Launch(const JobStep& step, const LaunchRequested& in);
  // The parent assigns a part in a new job.
  void TakePart(const JobStep& step, const std::shared_ptr<const JobSpec>& spec,
                const JobPrepare& m);
  // A job of a predecessor.
  void Recover(const JobStep& step, const JobRecovered& in);

  // ------------------------------------------------------------- meantime ---

  // Takes the job as far as its inputs allow. The job may be gone afterwards.
  void Advance(const JobStep& step, JobEntry& job);
  void RecordExit(const JobStep& step, JobEntry& job, const ProcExit& exit);
  // Another process is to follow that of a local rank.
  static bool MayRestart(const JobEntry& job, const ProcExit& exit) {
    return job.restarts.Allows(exit) && job.part.MayRestart(exit.rank);
  }
  // Of a local rank. `final`: no process can follow. False: the job is gone.
  [[nodiscard]] bool OnLocalExit(const JobStep& step, JobEntry& job,
                                 const ProcExit& exit, bool final);
  // The same.
  bool OnLocalOutput(const JobStep& step, JobEntry& job, const LocalOutput& in);
  // Starts processes whose time has come. The job may be gone afterwards.
  void RestartDue(const JobStep& step, JobEntry& job);
  void OnNodeLost(const JobStep& step, JobEntry& job, NodeId node,
                  const std::string& reason);
  // The map of a job is in the table, perhaps once more: this agent may have
  // had a part of it, and refer to the job again after that is over. No rank of
  // it lives here then.
  void OnMap(const std::string& nspace);

  // --------------------------------------------------------------- ending ---

  // Its head has reported the end.
  void Finish(const JobStep& step, JobEntry& job);
  // Its controller, or one on the way to it, has released it.
  void Release(const JobStep& step, JobEntry& job);
  // The agent that controls it is lost, or has no record of it.
  void OnControllerLost(const JobStep& step, JobEntry& job,
                        const std::string& reason);

  // Messages deferred for parts that ended since the last call, in order.
  std::vector<PeerMessage> TakeReleased();
  size_t size() const { return entries_.size(); }

 private:
  JobEntry& Add(const JobStep& step, const std::shared_ptr<const JobSpec>& spec,
                const JobPrepare& m);
  bool TakeOutput(const JobStep& step, JobEntry& job, const LocalOutput& in);
  void Drop(const JobStep& step, JobEntry& job);
  // It is not over, but the part has no purpose any more: the map stays.
  void Leave(const JobEntry& job);
  void DropRecovered(const JobStep& step, const JobRecovered& in);

  const NodeId self_;
  const std::vector<std::string> node_names_;
  const Tree& tree_;
  JobTable& table_;
  JobResync& resync_;
  bool persists_ = false;
  // Ordered, so that what happens does not depend on a hash.
  std::map<std::string, std::unique_ptr<JobEntry>> entries_;
  RecentJobs without_processes_;  // jobs whose processes here are gone
  std::vector<PeerMessage> released_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_JOB_SET_H_
