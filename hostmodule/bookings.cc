#include "hostmodule/bookings.h"

#include <algorithm>

namespace canopy::host {
namespace {

uint32_t CoresOf(const Topology& topology, const CpuSet& cpus) {
  return static_cast<uint32_t>(std::ranges::count_if(
      topology.at(TopologyLevel::kCore),
      [&](const CpuSet& core) { return core.Intersects(cpus); }));
}

class Counter {
 public:
  Counter(const Topology& topology, TopologyLevel level)
      : topology_(topology),
        level_(level),
        objects_(topology.at(level)),
        booked_(objects_.size()) {}

  bool Floats(const BoundProc& proc) const {
    return CoresOf(topology_, proc.cpus) > proc.cores;
  }

  void Add(const BoundProc& proc) {
    const auto whole = std::ranges::find_if(
        objects_, [&](const CpuSet& o) { return o.Contains(proc.cpus); });
    if (whole != objects_.end()) {
      booked_[whole - objects_.begin()] +=
          level_ < TopologyLevel::kCore ? proc.cores : 1;
    } else {
      AddToSeveral(proc);
    }
  }

  std::vector<uint32_t> Take() && { return std::move(booked_); }

 private:
  void AddToSeveral(const BoundProc& proc) {
    std::vector<uint32_t> touched;
    for (uint32_t i = 0; i < objects_.size(); ++i) {
      if (objects_[i].Intersects(proc.cpus)) touched.push_back(i);
    }
    if (Floats(proc)) {
      std::ranges::stable_sort(touched, {},
                               [&](uint32_t i) { return booked_[i]; });
      touched.resize(std::min<size_t>(touched.size(), proc.cores));
    }
    for (const uint32_t i : touched) ++booked_[i];
  }

  const Topology& topology_;
  const TopologyLevel level_;
  const std::vector<CpuSet>& objects_;
  std::vector<uint32_t> booked_;
};

}  // namespace

std::vector<uint32_t> BookedCpus(const Topology& topology, TopologyLevel level,
                                 const std::vector<BoundProc>& procs) {
  Counter counter(topology, level);
  // Processes that need all their CPUs are counted first; the others are then
  // counted where fewer CPUs are needed.
  for (const bool floating : {false, true}) {
    for (const BoundProc& proc : procs) {
      if (counter.Floats(proc) == floating) counter.Add(proc);
    }
  }
  return std::move(counter).Take();
}

}  // namespace canopy::host
