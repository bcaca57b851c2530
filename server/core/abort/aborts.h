// PMIx_Abort: a request goes from the caller's agent to the agents that control
// the targets' jobs, and is answered when the targets are gone (PMIx Standard,
// chapter "Process management").
#ifndef CANOPY_SERVER_CORE_ABORT_ABORTS_H_
#define CANOPY_SERVER_CORE_ABORT_ABORTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/ids.h"
#include "server/core/engine.h"
#include "server/core/job/engine.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/step/client_id.h"
#include "server/core/step/client_inputs.h"
#include "server/core/step/clock.h"
#include "server/core/step/step_context.h"
#include "server/core/why.h"

namespace canopy::core {

// Time for which a caller waits for the end of its targets. It is longer than
// the time in which a job must end its processes, unless the job's launcher has
// set a longer grace period.
inline constexpr TimeNs kAbortTimeout = 60'000'000'000;

// At the caller's agent, an abort is one message for each job of the targets.
// The message is sent again when the agents or their tree have changed, until
// it is answered. If the caller is a target itself, there is no answer, and the
// message is repeated until the caller's job is over. A repetition does no
// harm.
//
// At the agent that controls a job, the job engine ends the targets, and the
// abort is answered when the last of them has ended. Not synchronised.
class Aborts final : public Engine {
 public:
  // Table and engine outlive this object.
  Aborts(NodeId self, const JobTable& jobs, JobEngine& engine);

  // Returns kSuccess, or the status of a refusal, which ends no process. After
  // kSuccess the reply comes when the targets are gone, unless the caller is
  // one of them. Refusals: kErrNoPermissions for a source without a job,
  // kErrParamValueNotSupported if a target belongs to another user,
  // kErrBadParam if a target is not a rank of its job, kErrOutOfResource if the
  // caller's job already has its share of the calls in progress.
  int OnArrived(const StepContext& step, const ProcId& source,
                const AbortArrived& in);
  void OnMessage(const StepContext& step, const AbortMessage& message);
  // Ignores the reply if this agent knows that `src` does not control the job.
  void OnReply(const StepContext& step, NodeId src, const AbortReply& reply);

  // Called when the connection of a caller has ended.
  void OnClientGone(const StepContext& step, ClientId client) override;
  // Called when the rank may have ended.
  void OnRankGone(const StepContext& step, const ProcId& proc) override;
  void OnJobRemoved(const StepContext& step, const RemovedJob& job) override;
  // Called when messages may have been lost and jobs may have another
  // controller.
  void OnTreeChanged(const StepContext& step) override;
  void OnNodeRestarted(const StepContext& step, NodeId) override {
    OnTreeChanged(step);
  }
  void OnTick(const StepContext& step) override;
  TimeNs NextDeadline() const override;
  // Appends the aborts that wait for the end of their targets.
  void Describe(TimeNs now, const std::string& nspace,
                std::vector<Waiting>* out) const override;
  void Count(ResourceCounts* counts) const override { counts->aborts = size(); }
  size_t size() const { return calls_.size() + waiting_.size(); }

 private:
  // One call of a process of this node.
  struct Call {
    ClientId client = 0;
    RequestId request = 0;  // 0: no reply is needed
    ProcId source;
    TimeNs since = 0;
    bool repeated = false;                     // sent more than once
    int status = 0;                            // the first error
    std::map<std::string, AbortMessage> open;  // by job; not answered yet
  };
  // The targets of one abort in a job that this agent controls.
  struct Targets {
    AbortMessage message;
    TimeNs since = 0;
    std::set<Rank> ranks;  // ranks that have not ended
  };

  int Check(const ProcId& source, std::vector<ProcId>* targets) const;
  // Return true if the caller's job may have one more call that needs a reply
  // (MayCall), or one more abort that waits here for its targets (HasRoomFor).
  bool MayCall(const std::string& nspace) const;
  bool HasRoomFor(const std::string& nspace) const;
  uint64_t NewNumber(TimeNs now);
  void AskForAnswers(const AbortArrived& in, uint64_t number, Call* call) const;
  void DropOldest();
  void Send(const StepContext& step, const AbortMessage& message);
  void SendAll(const StepContext& step, uint64_t number);
  bool MayEnd(const AbortMessage& message, const Job& job) const;
  // Executes the abort at the agent that controls the targets' job. Returns the
  // answer, or no value if it comes later.
  std::optional<int> Execute(const StepContext& step,
                             const AbortMessage& message);
  std::optional<int> Await(TimeNs now, const AbortMessage& message);
  void Answer(const StepContext& step, const AbortMessage& message, int status);
  Waiting DescribeTargets(TimeNs now, const Targets& targets) const;

  const NodeId self_;
  const JobTable& jobs_;
  JobEngine& engine_;
  uint64_t last_call_ = 0;
  std::map<uint64_t, Call> calls_;
  std::multimap<std::string, Targets> waiting_;  // by job
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_ABORT_ABORTS_H_
