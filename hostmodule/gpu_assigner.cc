#include "hostmodule/gpu_assigner.h"

#include <algorithm>

#include "hostmodule/binder.h"
#include "hostmodule/node_pool.h"

namespace canopy::host {
namespace {

std::string Count(size_t n) {
  return std::to_string(n) + (n == 1 ? " GPU" : " GPUs");
}

Status TooFew(const MapNode& node, uint32_t wanted, size_t left) {
  const size_t all = node.topology ? node.topology->gpus.size() : 0;
  return {kErrJobInsufficientResources,
          "not enough GPUs on node " + node.name + ": a process needs " +
              Count(wanted) + ", and " + std::to_string(left) + " of its " +
              Count(all) + (left == 1 ? " is" : " are") +
              " free; start fewer processes there, or give each fewer with "
              "--gpus-per-rank"};
}

}  // namespace

GpuAssigner::GpuAssigner(const std::vector<MapNode>& pool, uint32_t per_proc)
    : pool_(pool), per_proc_(per_proc) {}

Status GpuAssigner::Assign(Placed* p) {
  const MapNode& node = pool_[p->node];
  const auto [entry, is_new] = free_.try_emplace(MachineKey(node));
  std::vector<Gpu>& free = entry->second;
  if (is_new) free = FreeGpus(node);
  std::vector<Gpu> order = free;
  std::stable_partition(
      order.begin(), order.end(),
      [&](const Gpu& gpu) { return gpu.cpus.Intersects(p->cpus); });
  for (const GpuKind kind : kGpuKinds) {
    std::vector<Gpu> own;
    for (const Gpu& gpu : order) {
      if (gpu.kind == kind && own.size() < per_proc_) own.push_back(gpu);
    }
    if (own.size() < per_proc_) continue;
    p->gpus = JoinGpus(own);
    std::erase_if(free, [&](const Gpu& gpu) {
      return std::ranges::count(own, GpuName(gpu), GpuName) > 0;
    });
    return {};
  }
  return TooFew(node, per_proc_, free.size());
}

}  // namespace canopy::host
