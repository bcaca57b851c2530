// Calls of local processes to the host (HostOp) while the host decides, and
// requests of job control on their way to the agents that control the targets'
// jobs (docs/design/host_calls.md).
#ifndef CANOPY_SERVER_CORE_HOST_HOST_CALLS_H_
#define CANOPY_SERVER_CORE_HOST_HOST_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "server/core/engine.h"
#include "server/core/host/control_records.h"
#include "server/core/host/control_targets.h"
#include "server/core/host/job_control.h"
#include "server/core/job/engine.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/pset/process_sets.h"
#include "server/core/step/client_id.h"
#include "server/core/step/client_inputs.h"
#include "server/core/step/clock.h"
#include "server/core/step/host.h"
#include "server/core/step/persisted_state.h"
#include "server/core/step/step_context.h"
#include "server/core/tree.h"
#include "server/core/why.h"

namespace canopy::core {

// Maximum number of pending calls of one process; more are refused
// (kErrOutOfResource).
inline constexpr size_t kMaxHostCalls = 64;

// Maximum number of bytes of directives that are sent to other agents.
inline constexpr size_t kMaxControlCall = size_t{64} << 10;

// Job control that signals or ends processes is sent as one HostRequest for
// each job of the targets, to the agent that controls that job. The request is
// sent again whenever the agents or their tree have changed, until it is
// answered. The host of this node decides all other calls. Not synchronised.
class HostCalls final : public Engine {
 public:
  // All references outlive this object.
  HostCalls(NodeId self, const Tree& tree, const JobTable& jobs,
            JobEngine& engine, const ProcessSets& sets);
  // Makes request numbers start at this time, so that a late answer to a
  // predecessor matches no request of this agent.
  void set_began(TimeNs when) override { next_ += static_cast<uint64_t>(when); }

  void OnArrived(const StepContext& step, const HostCallArrived& in);
  void OnAnswered(const StepContext& step, const HostAnswered& in);
  void OnRequest(const StepContext& step, NodeId src,
                 const HostRequest& request);
  // Ignores the reply unless it comes from the agent to which the request was
  // sent.
  void OnReply(const StepContext& step, NodeId src, const HostReply& reply);

  void OnClientGone(const StepContext& step, ClientId client) override;
  // Called when processes of the job were started, perhaps all of them.
  void OnLaunched(const StepContext& step, const std::string& nspace);
  // Called when the rank may have ended.
  void OnRankGone(const StepContext& step, const ProcId& proc) override;
  void OnJobRemoved(const StepContext& step, const RemovedJob& job) override;
  // Called when messages may have been lost and jobs may have another
  // controller.
  void OnTreeChanged(const StepContext& step) override;
  void OnNodeRestarted(const StepContext& step, NodeId) override {
    OnTreeChanged(step);
  }
  void OnJobRecovered(const StepContext& step, const JobRecovered& in) override;
  // Restores a record of a predecessor's journal.
  void Recover(const std::string& nspace, const PersistedRecord& record) {
    targets_.Recover(nspace, record);
  }
  void OnTick(const StepContext& step) override;
  TimeNs NextDeadline() const override;
  // Appends the calls that wait for the host, for other agents or for the ends
  // of targets.
  void Describe(TimeNs now, const std::string& nspace,
                std::vector<Waiting>* out) const override;
  void Count(ResourceCounts* counts) const override {
    counts->host_calls = size();
  }
  size_t size() const {
    return calls_.size() + controls_.size() + targets_.size();
  }

 private:
  struct Call {
    ClientId client = 0;
    RequestId request = 0;
    std::string nspace;  // the caller's namespace
    TimeNs since = 0;
  };
  // A pending job control.
  struct Control {
    ClientId client = 0;
    RequestId request = 0;
    TimeNs since = 0;
    bool ends = false;      // the request ends the targets
    bool repeated = false;  // sent more than once
    int status = 0;         // the first error
    Bytes results;
    std::map<std::string, HostRequest> open;  // by job; not answered yet
  };

  int Refusal(const ProcId* caller, const HostCallArrived& in) const;
  void AskLocalHost(const StepContext& step, const ProcId& caller,
                    const HostCallArrived& in);
  void ControlJobs(const StepContext& step, const ProcId& caller,
                   const HostCallArrived& in);
  int DefineSet(const ProcId& caller, const HostCallArrived& in,
                const std::string& name,
                std::optional<EventRaised>* defined) const;
  void LogRefused(const StepContext& step, const JobControl& control);
  void SendToJobs(const StepContext& step, const ProcId& caller,
                  const HostCallArrived& in, const JobControl& control);
  int ResolveTargets(const ProcId& caller, std::vector<ProcId>* targets) const;
  void SendAll(const StepContext& step, const ControlId& id);
  void PassAnswers(const StepContext& step);

  const NodeId self_;
  const JobTable& jobs_;
  const JobEngine& engine_;
  const ProcessSets& sets_;
  ControlTargets targets_;
  std::map<uint64_t, Call> calls_;  // by number of the AskHost
  std::map<ControlId, Control> controls_;
  std::set<std::string> logged_;  // refused directives that the log has named
  uint64_t next_ = 1;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_HOST_HOST_CALLS_H_
