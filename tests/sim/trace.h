// A simulated cluster's steps as text, so that a seed that fails can be read.
#ifndef CANOPY_TESTS_SIM_TRACE_H_
#define CANOPY_TESTS_SIM_TRACE_H_

#include <string>

#include "server/core/step/action.h"
#include "server/core/step/input.h"

namespace canopy::sim {

// One line, without a newline.
std::string Show(const core::Input& input);
// Empty for actions that say nothing of what agents agree on (log lines,
// deadlines).
std::string Show(const core::Action& action);

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_TRACE_H_
