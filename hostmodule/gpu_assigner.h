// Assigns GPUs to processes.
#ifndef CANOPY_HOSTMODULE_GPU_ASSIGNER_H_
#define CANOPY_HOSTMODULE_GPU_ASSIGNER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/gpu.h"
#include "common/status.h"
#include "hostmodule/map_node.h"
#include "hostmodule/placement.h"

namespace canopy::host {

// Assigns GPUs to processes, each GPU to one process. All GPUs of a process are
// of one kind; those near the CPUs to which the process is bound come first.
// Nodes emulated on one machine share its GPUs. Used by one thread.
class GpuAssigner {
 public:
  // `pool` must outlive the assigner; `per_proc` is at least 1.
  GpuAssigner(const std::vector<MapNode>& pool, uint32_t per_proc);

  // Sets `p->gpus`. Returns kErrJobInsufficientResources if too few GPUs of
  // each kind are free.
  Status Assign(Placed* p);

 private:
  const std::vector<MapNode>& pool_;
  const uint32_t per_proc_;
  std::map<std::string, std::vector<Gpu>> free_;  // by machine
};

}  // namespace canopy::host

#endif  // CANOPY_HOSTMODULE_GPU_ASSIGNER_H_
