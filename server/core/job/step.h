// The step in progress, which the classes of the job engine pass to each other.
#ifndef CANOPY_SERVER_CORE_JOB_STEP_H_
#define CANOPY_SERVER_CORE_JOB_STEP_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "common/ids.h"
#include "server/core/debug_holds.h"
#include "server/core/job/output_tap.h"
#include "server/core/messages.h"
#include "server/core/step/action.h"
#include "server/core/step/log_line.h"
#include "server/core/step/step_context.h"
#include "server/core/tree.h"

namespace canopy::core {

// Valid for one step.
struct JobStep : StepContext {
  NodeId self;
  const Tree& tree;
  OutputTap* tap = nullptr;           // null: no tap
  const DebugHolds* holds = nullptr;  // null: no job is held

  void Send(NodeId to, MessageBody body) const {
    out.push_back(SendPeer{{self, to, std::move(body)}});
  }
  // `uid` is the user whose processes have caused the line, if they have.
  void Log(LogLine::Level level, std::string text,
           std::optional<uint32_t> uid = {}) const {
    out.push_back(LogLine{level, std::move(text), uid});
  }
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_JOB_STEP_H_
