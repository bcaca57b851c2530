#include "server/control/launch_facts.h"

#include <string>

#include "server/control/placement_request.h"
#include "server/spawn/spawn_call.h"

namespace canopy::control {

LaunchFacts FactsOf(const v1::Launch& launch, const Placed& placed) {
  LaunchFacts facts;
  facts.oversubscribe =
      launch.oversubscribe() ||
      launch.map_by().find(":oversubscribe") != std::string::npos;
  facts.placed = PlacementFactsOf(placed);
  facts.tool = launch.has_daemons();
  if (launch.states_on_timeout()) facts.reports |= spawn::kTimeoutStates;
  if (launch.stacks_on_timeout()) facts.reports |= spawn::kTimeoutStacks;
  return facts;
}

}  // namespace canopy::control
