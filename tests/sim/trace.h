// A simulated cluster's steps as text, so that a seed that fails can be read.
#ifndef CANOPY_TESTS_SIM_TRACE_H_
#define CANOPY_TESTS_SIM_TRACE_H_

#include <string>

#include "common/ids.h"
#include "server/core/step/action.h"
#include "server/core/step/clock.h"
#include "server/core/step/input.h"

namespace canopy::sim {

// One line, without a newline.
std::string Show(const core::Input& input);
// Empty for actions without an effect on what agents agree on (log lines,
// deadlines).
std::string Show(const core::Action& action);
// To standard error: a node's input as Show gives it, and what it led to.
void PrintStep(core::TimeNs now, NodeId node, const std::string& input,
               const core::Actions& actions);

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_TRACE_H_
