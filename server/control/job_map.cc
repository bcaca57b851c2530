#include "server/control/job_map.h"

#include "common/ids.h"

namespace canopy::control {

void FillJobMap(const JobSpec& job,
                google::protobuf::RepeatedPtrField<v1::MapNode>* nodes) {
  for (const JobNode& node : job.nodes) {
    v1::MapNode* const out = nodes->Add();
    out->set_name(node.name);
    out->set_slots(node.slots);
  }
  for (Rank rank = 0; rank < job.procs.size(); ++rank) {
    const ProcPlacement& place = job.procs[rank];
    v1::MapProc* const out =
        nodes->Mutable(static_cast<int>(place.node))->add_procs();
    out->set_rank(rank);
    out->set_app(place.app);
    out->set_cpuset(place.cpuset);
    if (!job.gpus.empty()) out->set_gpus(job.gpus[rank]);
  }
}

}  // namespace canopy::control
