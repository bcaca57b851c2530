// Processes of this node that debuggers hold: stopped at their exec, or waiting
// in PMIx_Init or at a breakpoint of the program. An agent notifies the others
// when it begins to hold processes of a job and when it holds none any more
// (server/core/debug_holds.h).
#ifndef CANOPY_SERVER_CORE_EVENT_LOCAL_HOLDS_H_
#define CANOPY_SERVER_CORE_EVENT_LOCAL_HOLDS_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "server/core/debug_holds.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/step/client_inputs.h"
#include "server/core/step/clock.h"
#include "server/core/step/core_event.h"
#include "server/core/step/persisted_state.h"
#include "server/core/why.h"

namespace canopy::core {

// Texts that `why` reports as the operations of held ranks.
inline constexpr char kHeldAtExec[] = "hold before the first instruction";
inline constexpr char kHeldInProgram[] = "hold in PMIx_Init or at a breakpoint";

// Decodes another agent's notification of its holds. Returns the job and its
// state at the sending agent; no value for any other event.
std::optional<std::pair<std::string, HoldWord>> HoldWordIn(
    TimeNs now, const EventMessage& event);

// The held processes are persisted, so a successor holds the same processes
// until later events release them. Ranks are local ranks. Not synchronised.
// `jobs` outlives this object. Times are in nanoseconds.
class LocalHolds {
 public:
  explicit LocalHolds(const JobTable& jobs) : jobs_(jobs) {}
  // Sets the queue to which this object posts notifications for other agents
  // (EventDue) and records (HoldsRecorded). The queue outlives this object.
  void set_events(CoreEvents* events) { events_ = events; }

  // Called when the job's local processes were started; some may be stopped at
  // their exec.
  void OnStarted(TimeNs now, const std::string& nspace);
  // Called when the process has reported that it waits.
  void OnWaits(TimeNs now, const ProcId& proc);
  // Called when the process was released. With `kept`, a process that has not
  // stopped yet will be released when it stops.
  void OnReleased(TimeNs now, const ProcId& proc, bool kept);
  // Called when the process has ended, or made a call that a held process
  // cannot make.
  void OnFree(TimeNs now, const ProcId& proc);
  void OnJobRemoved(const std::string& nspace);
  void Recover(TimeNs now, const std::string& nspace,
               const PersistedRecord& record);
  // Called when a peer has joined or returned: notifies it of the held
  // processes of this node.
  void OnPeerIsNew(TimeNs now) const;

  // Appends, for each job or only for `nspace`, one operation for the processes
  // of this node that are held at their exec, and one for those held in
  // PMIx_Init or the program. `Waiting::missing` has the processes.
  void Describe(TimeNs now, const std::string& nspace,
                std::vector<Waiting>* out) const;

  bool empty() const { return held_.empty(); }

 private:
  struct Held {
    std::set<Rank> at_exec;
    std::set<Rank> waiting;
    std::set<Rank> freed;  // will not wait at their next stop
    TimeNs since = kNever;
    bool any() const { return !at_exec.empty() || !waiting.empty(); }
  };

  void Describe(TimeNs now, const std::string& nspace, const Held& held,
                const char* operation, const std::set<Rank>& ranks,
                std::vector<Waiting>* out) const;
  Held* Find(const ProcId& proc);
  void Update(TimeNs now, const std::string& nspace, Held* held);
  template <typename Event>
  void Post(Event event) const {
    if (events_ != nullptr) events_->Post(std::move(event));
  }
  void Persist(const std::string& nspace, const Held& held) const;

  const JobTable& jobs_;
  std::map<std::string, Held> held_;
  CoreEvents* events_ = nullptr;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_EVENT_LOCAL_HOLDS_H_
