// Aborts that local processes ask for, on their way to the agents that control
// the jobs they mean.
#ifndef CANOPY_SERVER_CORE_ABORTS_H_
#define CANOPY_SERVER_CORE_ABORTS_H_

#include <cstddef>
#include <deque>
#include <string>

#include "common/ids.h"
#include "server/core/job_engine.h"
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

  // An agent on the way may take it along: it is to be sent again when agents
  // come and go, until the source's own job is over. Twice is as good as once.
  void Keep(AbortMessage message);
  const std::deque<AbortMessage>& kept() const { return kept_; }
  void OnJobRemoved(const std::string& nspace);

 private:
  bool MayAbort(const ProcId& source, const ProcId& target) const;
  bool IsThere(const ProcId& target) const;

  const NodeId self_;
  const JobTable& jobs_;
  const JobEngine& engine_;
  std::deque<AbortMessage> kept_;
};

// The source itself is among those that it wants ended. The targets' names are
// complete.
bool TargetsItself(const AbortMessage& message);

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_ABORTS_H_
