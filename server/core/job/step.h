// The step in progress, which the classes of the job engine pass to each other.
#ifndef CANOPY_SERVER_CORE_JOB_STEP_H_
#define CANOPY_SERVER_CORE_JOB_STEP_H_

#include <string>
#include <utility>

#include "common/ids.h"
#include "server/core/debug_holds.h"
#include "server/core/job/output_tap.h"
#include "server/core/messages.h"
#include "server/core/step/action.h"
#include "server/core/step/clock.h"
#include "server/core/step/core_event.h"
#include "server/core/tree.h"

namespace canopy::core {

// Valid for one step. `out` collects the actions of the agent, in order.
struct JobStep {
  TimeNs now;
  NodeId self;
  const Tree& tree;
  Actions& out;
  OutputTap* tap = nullptr;           // null: no tap
  const DebugHolds* holds = nullptr;  // null: no job is held
  CoreEvents* events = nullptr;       // null: events are dropped

  void Send(NodeId to, MessageBody body) const {
    out.push_back(SendPeer{{self, to, std::move(body)}});
  }
  template <typename Event>
  void Post(Event event) const {
    if (events != nullptr) events->Post(std::move(event));
  }
  void Log(LogLine::Level level, std::string text) const {
    out.push_back(LogLine{level, std::move(text)});
  }
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_STEP_H_
