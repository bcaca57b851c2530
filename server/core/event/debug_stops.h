// Processes that wait for a debugger. A process that stops in PMIx_Init or in
// the program raises PMIX_READY_FOR_DEBUG for the resource manager alone. The
// agent itself stops processes at their exec, so these raise no event. When all
// processes of a job that must stop at one of these points have done so, the
// job's controller raises PMIX_READY_FOR_DEBUG for all receivers. Processes
// handle PMIX_DEBUGGER_RELEASE themselves, except those stopped at their exec,
// which the agent continues.
//
// Only the list of held processes (local_holds.h) is persisted here: the events
// of processes are persisted too, and a successor gets them again.
#ifndef CANOPY_SERVER_CORE_EVENT_DEBUG_STOPS_H_
#define CANOPY_SERVER_CORE_EVENT_DEBUG_STOPS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/job_debug.h"
#include "server/core/engine.h"
#include "server/core/event/local_holds.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/step/client_inputs.h"
#include "server/core/step/clock.h"
#include "server/core/step/process_actions.h"
#include "server/core/step/step_context.h"

namespace canopy::core {

// Maximum number of pending breakpoints of one job, and of bytes in the name of
// a breakpoint; events beyond these limits are ignored.
inline constexpr size_t kMaxBreakpoints = 16;
inline constexpr size_t kMaxBreakpointName = 255;

// Not synchronised. `jobs` outlives this object. Times are in nanoseconds.
class DebugStops final : public Engine {
 public:
  // Returns the agent that controls the job, which must be known to this agent.
  using ControllerOf = std::function<NodeId(const std::string& nspace)>;

  DebugStops(NodeId self, const JobTable& jobs, ControllerOf controller_of)
      : self_(self),
        jobs_(jobs),
        controller_of_(std::move(controller_of)),
        local_(jobs) {}

  void set_events(CoreEvents* events) override {
    Engine::set_events(events);
    local_.set_events(events);
  }

  // Called when processes of this node have been started.
  void OnStarted(TimeNs now, const std::string& nspace);
  // Handles an event that this agent has not received before.
  void OnEvent(TimeNs now, const EventMessage& event);
  void OnJobRemoved(const StepContext& step, const RemovedJob& job) override;
  void OnRankGone(const StepContext& step, const ProcId& proc) override {
    local_.OnFree(step.now, proc);
  }
  void OnNodeReturned(const StepContext& step) override {
    local_.OnPeerIsNew(step.now);
  }
  void OnNodeRestarted(const StepContext& step, NodeId) override {
    local_.OnPeerIsNew(step.now);
  }
  void OnJobRecovered(const StepContext& step, const JobRecovered& in) override;
  void Describe(TimeNs now, const std::string& nspace,
                std::vector<Waiting>* out) const override {
    local_.Describe(now, nspace, out);
  }

  // Returns the processes of this node that are held.
  LocalHolds& local() { return local_; }
  const LocalHolds& local() const { return local_; }

  size_t size() const { return stops_.size(); }

 private:
  // The job and the name of the breakpoint.
  using Key = std::pair<std::string, std::string>;
  struct Stop {
    // The waiting ranks of this node, with the numbers of their events.
    std::map<Rank, uint64_t> ranks;
    std::set<NodeId> nodes;  // at the controller: nodes where all ranks wait
  };

  void OnProcess(const Job& job, const EventMessage& event,
                 const std::string& breakpoint);
  // Called when all processes of this node that must stop at the breakpoint
  // wait there: notifies the job's controller.
  void TellController(const Job& job, const std::string& breakpoint,
                      const std::map<Rank, uint64_t>& waiting) const;
  void OnNode(const Job& job, NodeId node, const std::string& breakpoint);
  void OnRelease(TimeNs now, const EventMessage& event);
  void Release(TimeNs now, const Job& job, const EventMessage& event);
  Stop* StopAt(const Job& job, const std::string& breakpoint);

  const NodeId self_;
  const JobTable& jobs_;
  const ControllerOf controller_of_;
  LocalHolds local_;
  std::map<Key, Stop> stops_;
  // Number of completed rounds of stops of each job; it distinguishes the
  // events of different rounds.
  std::map<std::string, uint32_t> rounds_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_EVENT_DEBUG_STOPS_H_
