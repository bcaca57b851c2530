// The steps of a simulated cluster as text, so that a failing seed can be
// analysed.
#ifndef CANOPY_TESTS_SIM_TRACE_H_
#define CANOPY_TESTS_SIM_TRACE_H_

#include <string>

#include "common/ids.h"
#include "server/core/step/action.h"
#include "server/core/step/clock.h"
#include "server/core/step/input.h"

namespace canopy::sim {

// Returns one line, without a newline.
std::string Show(const core::Input& input);
// Returns one line. Returns an empty text for actions that do not affect the
// shared state of agents (log lines, deadlines).
std::string Show(const core::Action& action);
// Writes a node's input, as Show returns it, and the resulting actions to
// standard error.
void PrintStep(core::TimeNs now, NodeId node, const std::string& input,
               const core::Actions& actions);

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_TRACE_H_
