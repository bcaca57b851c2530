#include "server/control/launch_facts.h"

#include <string>

#include "server/control/placement_request.h"

namespace canopy::control {

LaunchFacts FactsOf(const JobRequest& request, const Placed& placed) {
  LaunchFacts facts;
  facts.oversubscribe =
      request.places.oversubscribe ||
      request.places.map_by.find(":oversubscribe") != std::string::npos;
  facts.placed = PlacementFactsOf(placed);
  facts.tool = request.daemons.has_value();
  facts.reports = request.reports;
  return facts;
}

}  // namespace canopy::control
