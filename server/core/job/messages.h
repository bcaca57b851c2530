// Passes each message of another agent about a job to that job.
#ifndef CANOPY_SERVER_CORE_JOB_MESSAGES_H_
#define CANOPY_SERVER_CORE_JOB_MESSAGES_H_

#include "common/ids.h"
#include "server/core/job/job_set.h"
#include "server/core/job/resync.h"
#include "server/core/job/step.h"
#include "server/core/messages.h"

namespace canopy::core {

// A message about a job that this agent does not have is ignored, deferred
// until the agent has its part of the job, or answered by JobResync. Not
// synchronised.
class JobMessages {
 public:
  // Both references outlive this object.
  JobMessages(JobSet& jobs, JobResync& resync) : jobs_(jobs), resync_(resync) {}

  // Handles the message. Returns false if it is not about the life of jobs.
  bool Take(const JobStep& step, const PeerMessage& message);
  // Ends the targets in jobs that this agent controls. If there are no targets,
  // ends the whole job of the source.
  void Abort(const JobStep& step, const AbortMessage& m);

 private:
  bool Defer(const PeerMessage& message);
  // Returns the job about which `src` reports. If this agent does not have the
  // job, returns null, and `src` gets an answer from JobResync.
  JobEntry* FindReported(const JobStep& step, NodeId src,
                         const std::string& nspace);
  void PrepareAgain(const JobStep& step, NodeId src, JobEntry& job,
                    const JobPrepare& m);
  void OnOver(const JobStep& step, NodeId src, const JobQueryReply& m);

  void On(const JobStep& step, NodeId src, const JobPrepare& m);
  void On(const JobStep& step, NodeId src, const JobPrepared& m);
  void On(const JobStep& step, NodeId src, const JobStart& m);
  void On(const JobStep& step, NodeId src, const JobStarted& m);
  void On(const JobStep& step, NodeId src, const JobExits& m);
  void On(const JobStep& step, NodeId src, const NodeLost& m);
  void On(const JobStep& step, NodeId src, const JobSignal& m);
  void On(const JobStep& step, NodeId src, const JobKill& m);
  void On(const JobStep& step, NodeId src, const JobForget& m);
  void On(const JobStep& step, NodeId src, const JobQuery& m);
  void On(const JobStep& step, NodeId src, const JobQueryReply& m);
  void On(const JobStep& step, NodeId src, const SyncComplete& m);
  void On(const JobStep& step, NodeId src, const RankRestarted& m);
  void On(const JobStep& step, NodeId src, const OutputData& m);
  void On(const JobStep& step, NodeId src, const OutputCredit& m);
  void On(const JobStep& step, NodeId src, const InputData& m);
  void On(const JobStep& step, NodeId src, const InputCredit& m);

  JobSet& jobs_;
  JobResync& resync_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_MESSAGES_H_
