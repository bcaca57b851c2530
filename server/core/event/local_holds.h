// Processes of this node that debuggers hold: stopped at their exec, or waiting
// in PMIx_Init or where the program wants. Each agent tells the others when it
// holds some of a job, and when none any more (server/core/debug_holds.h).
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
#include "server/core/step/persisted_state.h"

namespace canopy::core {

// What an agent has said by that event, and of which job; nothing when it is
// another kind of event.
std::optional<std::pair<std::string, HoldWord>> HoldWordIn(
    TimeNs now, const EventMessage& event);

// Persisted, so that a successor holds what its predecessor did; released by
// what it hears afterwards. Ranks are the job's, local ones. Not synchronised.
// The table outlives it.
class LocalHolds {
 public:
  explicit LocalHolds(const JobTable& jobs) : jobs_(jobs) {}

  // The job's local processes run, or are stopped at their exec.
  void OnStarted(TimeNs now, const std::string& nspace);
  // It has said that it waits.
  void OnWaits(TimeNs now, const ProcId& proc);
  // `kept`: who stops for one later gets the same release.
  void OnReleased(TimeNs now, const ProcId& proc, bool kept);
  // It has ended, or does what none does that is held.
  void OnFree(TimeNs now, const ProcId& proc);
  void OnJobRemoved(const std::string& nspace);
  void Recover(TimeNs now, const std::string& nspace,
               const PersistedRecord& record);
  // Other agents may not know what is held here.
  void OnPeerIsNew(TimeNs now);

  // What is to be told, after what is to be persisted, since the last call.
  std::vector<EventRaised> TakeDue() { return std::exchange(due_, {}); }
  std::vector<PersistRecord> TakeRecords() {
    return std::exchange(records_, {});
  }
  bool has_due() const { return !due_.empty() || !records_.empty(); }
  bool empty() const { return held_.empty(); }

 private:
  struct Held {
    std::set<Rank> at_exec;
    std::set<Rank> waiting;
    std::set<Rank> freed;  // will not wait the next time that they stop
    TimeNs since = kNever;
    bool any() const { return !at_exec.empty() || !waiting.empty(); }
  };

  Held* Find(const ProcId& proc);
  void Update(TimeNs now, const std::string& nspace, Held* held);
  void Persist(const std::string& nspace, const Held& held);

  const JobTable& jobs_;
  std::map<std::string, Held> held_;
  std::vector<EventRaised> due_;
  std::vector<PersistRecord> records_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_EVENT_LOCAL_HOLDS_H_
