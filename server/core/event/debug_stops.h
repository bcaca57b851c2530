// Processes that wait for a debugger. Each says so by PMIX_READY_FOR_DEBUG, for
// the resource manager alone; once all of a job's that are to stop there do,
// the job's controller raises that event for everybody. PMIX_DEBUGGER_RELEASE
// is handled by the processes themselves, but for those that are stopped at
// their exec, which the agent continues.
//
// Of this, nothing is persisted but who is held (local_holds.h): the events of
// processes are, and a successor sees them again.
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
#include "server/core/event/local_holds.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/step/client_inputs.h"
#include "server/core/step/clock.h"
#include "server/core/step/process_actions.h"

namespace canopy::core {

// Breakpoints of one job that are waited for at a time, and bytes of the name
// of one; others are not heeded.
inline constexpr size_t kMaxBreakpoints = 16;
inline constexpr size_t kMaxBreakpointName = 255;

// Not synchronised. The table outlives it.
class DebugStops {
 public:
  // The agent that controls a job that is known here.
  using ControllerOf = std::function<NodeId(const std::string& nspace)>;

  DebugStops(NodeId self, const JobTable& jobs, ControllerOf controller_of)
      : self_(self),
        jobs_(jobs),
        controller_of_(std::move(controller_of)),
        local_(jobs) {}

  // An event that this agent has not had before.
  void OnEvent(TimeNs now, const EventMessage& event);
  void OnJobRemoved(const std::string& nspace);

  // What is to be raised because of these events, since the last call.
  std::vector<EventRaised> TakeDue() { return std::exchange(due_, {}); }
  // Processes of this node that are to go on.
  std::vector<SignalLocal> TakeReleased() {
    return std::exchange(released_, {});
  }

  // Whether those two have something, or what is held here has changed.
  bool has_due() const {
    return !due_.empty() || !released_.empty() || local_.has_due();
  }

  // Which processes of this node are held.
  LocalHolds& local() { return local_; }

  size_t size() const { return stops_.size(); }

 private:
  // Job and breakpoint.
  using Key = std::pair<std::string, std::string>;
  struct Stop {
    // Of this node that wait, each with the number of its event.
    std::map<Rank, uint64_t> ranks;
    std::set<NodeId> nodes;  // of the controller: those whose ranks all do
  };

  void OnProcess(const Job& job, const EventMessage& event,
                 const std::string& breakpoint);
  void OnNode(const Job& job, NodeId node, const std::string& breakpoint);
  void OnRelease(TimeNs now, const EventMessage& event);
  void Release(TimeNs now, const Job& job, const EventMessage& event);
  Stop* StopAt(const Job& job, const std::string& breakpoint);

  const NodeId self_;
  const JobTable& jobs_;
  const ControllerOf controller_of_;
  LocalHolds local_;
  std::map<Key, Stop> stops_;
  // How often all of a job have stopped: its events differ by that.
  std::map<std::string, uint32_t> rounds_;
  std::vector<EventRaised> due_;
  std::vector<SignalLocal> released_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_EVENT_DEBUG_STOPS_H_
