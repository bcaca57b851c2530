// Aborts requested by local processes, forwarded to the agents that control the
// targets' jobs.
#ifndef CANOPY_SERVER_CORE_ABORTS_H_
#define CANOPY_SERVER_CORE_ABORTS_H_

#include <cstddef>
#include <deque>
#include <string>

#include "common/ids.h"
#include "server/core/job/engine.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/step/action.h"

namespace canopy::core {

// Not synchronised. Table and engine outlive it.
class Aborts {
 public:
  Aborts(NodeId self, const JobTable& jobs, const JobEngine& engine);

  // Completes the targets' names. kErrNoPermissions when the source may not end
  // them all, kErrBadParam when one is no rank of its job.
  int Complete(AbortMessage* message) const;

  struct Sent {
    bool here = false;  // this agent controls one of the jobs itself
    bool elsewhere = false;
  };
  // To the other agents that control the targets' jobs.
  Sent Send(const AbortMessage& message, Actions* actions) const;

  // A forwarding agent may be lost with the message: it is resent whenever the
  // membership changes, until the source's own job is over. Delivery is
  // idempotent.
  void Retain(AbortMessage message);
  const std::deque<AbortMessage>& retained() const { return retained_; }
  void OnJobRemoved(const std::string& nspace);

 private:
  bool MayAbort(const ProcId& source, const ProcId& target) const;
  bool IsThere(const ProcId& target) const;

  const NodeId self_;
  const JobTable& jobs_;
  const JobEngine& engine_;
  std::deque<AbortMessage> retained_;
};

// Whether the source is one of the targets, whose names are complete.
bool TargetsItself(const AbortMessage& message);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_ABORTS_H_
