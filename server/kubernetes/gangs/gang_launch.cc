#include "server/kubernetes/gangs/gang_launch.h"

namespace canopy::kubernetes {
namespace {

// The pods execute the commands of their own containers; the job only names
// one.
JobApp AppOf(const Arrival& first, size_t pods) {
  JobApp app;
  app.argv = first.argv;
  if (app.argv.empty()) app.argv = {first.job};
  app.num_procs = static_cast<uint32_t>(first.ranks * pods);
  return app;
}

}  // namespace

HostLaunch LaunchOf(const std::string& name,
                    const std::vector<const Arrival*>& pods) {
  const Arrival& first = *pods.front();
  HostLaunch launch;
  launch.id.request = name;
  launch.grant.host_job = name;
  for (const Arrival* pod : pods) {
    launch.grant.nodes.push_back({pod->node, pod->ranks});
  }
  launch.job.apps.push_back(AppOf(first, pods.size()));
  launch.job.name = first.nspace + "/" + first.job;
  launch.job.places.map_by = "slot";
  launch.job.places.bind_to = "none";
  launch.job.stdin_target = StdinTarget::kNone;
  return launch;
}

}  // namespace canopy::kubernetes
