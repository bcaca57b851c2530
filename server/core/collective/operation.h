// The operation of a collective as a policy: the differences between fences,
// connects and operations on process groups. CollectiveProgress is the state
// machine that all of them share; it calls the functions below at the points
// where they differ.
#ifndef CANOPY_SERVER_CORE_COLLECTIVE_OPERATION_H_
#define CANOPY_SERVER_CORE_COLLECTIVE_OPERATION_H_

#include <cstdint>

#include "common/bytes.h"
#include "common/ids.h"
#include "server/core/collective/connections.h"
#include "server/core/collective/groups.h"
#include "server/core/collective/series.h"
#include "server/core/collective/series_table.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/modex/modex.h"
#include "server/core/step/clock.h"
#include "server/core/step/step_context.h"
#include "server/core/tree.h"

namespace canopy::core {

// The state of the agent that collectives read and change. All of it outlives
// the objects that have a reference to it.
struct CollectiveParts {
  NodeId self;
  const Tree& tree;
  JobTable& jobs;
  ModexStore& modex;
  SeriesTable& table;
  Connections& connections;
  Groups& groups;
};

// The members of every series passed in are known. The functions are called in
// the order in which they are declared, for one collective. Used by one thread.
class Operation {
 public:
  explicit Operation(const CollectiveParts& parts) : p_(parts) {}
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;
  virtual ~Operation() = default;

  // Returns whether the operation may fail at some agents and succeed at
  // others. If not, only the top decides after an agent has contributed.
  virtual bool may_end_differently() const { return false; }
  // Returns whether the contributions are contained in a result, which the top
  // computes (MakeResult).
  virtual bool has_result() const { return false; }
  // Returns whether the agent of a member that is gone decides for that member:
  // when it gets a request, it contributes or fails the collective.
  virtual bool asks_agents_of_gone_members() const { return false; }

  // Called when the collective begins at this agent.
  virtual void OnBegin(Series& /*series*/, uint64_t /*sequence*/,
                       Instance* /*instance*/) const {}
  // Returns the contribution of this node. Called when all local participants
  // have arrived.
  virtual Bytes OwnContribution(const Series& series,
                                Instance* instance) const = 0;
  // Called when the first contribution of a node has arrived.
  virtual void OnContribution(const Bytes& /*data*/,
                              Instance* /*instance*/) const {}
  // Computes the result; called at the top, when all nodes have contributed.
  virtual void MakeResult(TimeNs /*now*/, const Series& /*series*/,
                          Instance* /*instance*/) {}
  // Adds to the release of a success the data that the neighbour `to` lacks.
  virtual void FillRelease(const CompletedCollective& completed, NodeId to,
                           CollectiveDown* down) const = 0;
  // Adds to a release the result of a collective that completed under this
  // agent's predecessor.
  virtual void FillRecovered(const Series& series, uint64_t sequence,
                             CollectiveDown* down) const = 0;
  // Stores the data that a successful collective brings to this node.
  virtual void StoreData(const StepContext& step,
                         const CompletedCollective& completed) const = 0;
  // Called when the collective has completed. Not called for a failed
  // collective while an earlier collective has yet to complete.
  virtual void OnCompleted(const StepContext& /*step*/, Series& /*series*/,
                           uint64_t /*sequence*/, const Instance& /*instance*/,
                           CompletedCollective* /*completed*/) {}
  // Called when the collective has failed.
  virtual void OnFailed(const StepContext& /*step*/, const Series& /*series*/,
                        const Instance& /*instance*/,
                        const CompletedCollective& /*completed*/) const {}
  // Returns whether the operation has a lasting effect now: the participants
  // are connected, or the group exists.
  virtual bool IsInEffect(const CollectiveId& id) const = 0;

 protected:
  const CollectiveParts& parts() const { return p_; }

 private:
  const CollectiveParts p_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_COLLECTIVE_OPERATION_H_
