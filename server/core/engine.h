// The interface of the core's engines: the functions that several engines have.
// The table of all engines, with the order in which they are notified, is in
// dispatch/engines.h. The inputs and messages that concern one engine alone are
// functions of that engine.
#ifndef CANOPY_SERVER_CORE_ENGINE_H_
#define CANOPY_SERVER_CORE_ENGINE_H_

#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "server/core/resource_counts.h"
#include "server/core/step/client_id.h"
#include "server/core/step/clock.h"
#include "server/core/step/core_event.h"
#include "server/core/step/peer_inputs.h"
#include "server/core/step/persisted_state.h"
#include "server/core/step/step_context.h"
#include "server/core/why.h"

namespace canopy::core {

// Each function does nothing unless an engine overrides it. An engine appends
// the actions that it causes to those of `step`. The job table, the tree and
// the modex store have been updated before a notification. An engine announces
// its own changes by events, and does not call another engine that has to react
// to the same change. Used by one thread.
class Engine {
 public:
  Engine() = default;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;

  // ------------------------------------------------------------- start ---

  // Sets the queue to which the engine posts its events. The queue outlives the
  // engine. An engine without a queue posts nothing.
  virtual void set_events(CoreEvents* events) { events_ = events; }
  // Sets whether the engine emits PersistRecord for a successor.
  virtual void set_persists(bool /*persists*/) {}
  // Called if this agent starts while other agents have state: sets the time of
  // its start. Request numbers begin with that time, so that a late answer to a
  // request of this agent's predecessor matches no request of this agent.
  virtual void set_began(TimeNs /*when*/) {}
  // Restores the state of the job that this agent's predecessor persisted. The
  // job is in the table, with the data that its ranks had committed.
  virtual void OnJobRecovered(const StepContext& /*step*/,
                              const JobRecovered& /*in*/) {}

  // ---------------------------------------------------- clients and ranks ---

  // Called when the connection of a client has ended. The client is still in
  // the table.
  virtual void OnClientGone(const StepContext& /*step*/, ClientId /*client*/) {}
  // Called when a rank on any node has ended or lost its connection.
  virtual void OnRankGone(const StepContext& /*step*/, const ProcId& /*proc*/) {
  }
  // Called when the process of a rank has ended and was replaced by another
  // process.
  virtual void OnRankRestarted(const StepContext& /*step*/,
                               const ProcId& /*proc*/) {}

  // ---------------------------------------------------------------- jobs ---

  // Called when the map of a job was added to the table.
  virtual void OnJobAdded(const StepContext& /*step*/,
                          const std::string& /*nspace*/) {}
  // Called when it is known that no agent has the map of the job.
  virtual void OnJobUnknown(const StepContext& /*step*/,
                            const std::string& /*nspace*/) {}
  // Called when the job was removed from the table. A new job of the same name
  // may be in the table already; OnJobAdded follows for it.
  virtual void OnJobRemoved(const StepContext& /*step*/,
                            const RemovedJob& /*job*/) {}

  // --------------------------------------------------------------- nodes ---

  // Called when a node was lost. OnTreeChanged follows when all engines have
  // had this call.
  virtual void OnNodeLost(const StepContext& /*step*/,
                          const NodeStateChanged& /*in*/) {}
  // Called when a node has returned. OnTreeChanged of this engine follows
  // before the next engine is notified.
  virtual void OnNodeReturned(const StepContext& /*step*/) {}
  // Called when a node was lost or has returned. The neighbours in the tree may
  // have changed, and messages may have been lost.
  virtual void OnTreeChanged(const StepContext& /*step*/) {}
  // Called when the agent of the node was replaced by a successor, which has
  // none of the messages that its predecessor received. Messages in flight to
  // the node and through it may be lost.
  virtual void OnNodeRestarted(const StepContext& /*step*/, NodeId /*node*/) {}

  // ---------------------------------------------------------------- time ---

  // Returns the time at which OnTick must be called next; kNever: it need not
  // be called.
  virtual TimeNs NextDeadline() const { return kNever; }
  virtual void OnTick(const StepContext& /*step*/) {}

  // ------------------------------------------------------------- reports ---

  // Adds the numbers of objects that the engine holds to `*counts`.
  virtual void Count(ResourceCounts* /*counts*/) const {}
  // Appends the operations that wait in the engine: those of the job `nspace`,
  // or those of all jobs if `nspace` is empty.
  virtual void Describe(TimeNs /*now*/, const std::string& /*nspace*/,
                        std::vector<Waiting>* /*out*/) const {}

 protected:
  // Returns the queue of set_events; null if there is none.
  CoreEvents* events() const { return events_; }
  // Posts an event to that queue, if there is one.
  template <typename Event>
  void Post(Event event) const {
    if (events_ != nullptr) events_->Post(std::move(event));
  }

 private:
  CoreEvents* events_ = nullptr;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_ENGINE_H_
