#include "server/scheduler/mapping.h"

#include "common/topology.h"
#include "hostmodule/map_policy.h"

namespace canopy::scheduler {
namespace {

namespace v1 = hostmodule::v1;
using host::MapPolicy;

struct LevelPolicy {
  TopologyLevel level;
  v1::MapPolicy policy;
};
constexpr LevelPolicy kLevels[] = {
    {TopologyLevel::kPackage, v1::MAP_POLICY_PACKAGE},
    {TopologyLevel::kNuma, v1::MAP_POLICY_NUMA},
    {TopologyLevel::kL3, v1::MAP_POLICY_L3_CACHE},
    {TopologyLevel::kL2, v1::MAP_POLICY_L2_CACHE},
    {TopologyLevel::kL1, v1::MAP_POLICY_L1_CACHE},
    {TopologyLevel::kCore, v1::MAP_POLICY_CORE},
    {TopologyLevel::kHwthread, v1::MAP_POLICY_HARDWARE_THREAD},
};

v1::MapPolicy PolicyOf(TopologyLevel level) {
  for (const LevelPolicy& known : kLevels) {
    if (known.level == level) return known.policy;
  }
  return v1::MAP_POLICY_UNSPECIFIED;
}

std::optional<TopologyLevel> LevelOf(v1::MapPolicy policy) {
  for (const LevelPolicy& known : kLevels) {
    if (known.policy == policy) return known.level;
  }
  return std::nullopt;
}

v1::MapPolicy PolicyOf(const MapPolicy& policy) {
  if (policy.level) return PolicyOf(*policy.level);
  switch (policy.kind) {
    case MapPolicy::Kind::kNode:
    case MapPolicy::Kind::kPpr:
      return v1::MAP_POLICY_NODE;
    case MapPolicy::Kind::kSeq:
      return v1::MAP_POLICY_SEQUENTIAL;
    case MapPolicy::Kind::kSlot:
    case MapPolicy::Kind::kObject:
      break;
  }
  return v1::MAP_POLICY_SLOT;
}

// Returns the kind of the policy, regardless of procs_per_resource.
Result<MapPolicy::Kind> KindOf(const v1::Mapping& mapping) {
  switch (mapping.policy()) {
    case v1::MAP_POLICY_UNSPECIFIED:
    case v1::MAP_POLICY_SLOT:
      return MapPolicy::Kind::kSlot;
    case v1::MAP_POLICY_NODE:
      return MapPolicy::Kind::kNode;
    case v1::MAP_POLICY_SEQUENTIAL:
      return MapPolicy::Kind::kSeq;
    default:
      if (LevelOf(mapping.policy())) return MapPolicy::Kind::kObject;
      return Status(kErrBadParam, "an unknown policy of mapping");
  }
}

Status SetProcsPerResource(const v1::Mapping& mapping, MapPolicy* policy) {
  if (!mapping.has_procs_per_resource()) return {};
  const bool countable = policy->kind == MapPolicy::Kind::kNode ||
                         policy->kind == MapPolicy::Kind::kObject;
  if (mapping.procs_per_resource() == 0 || !countable) {
    return {kErrBadParam, "a number of processes for a resource that has none"};
  }
  policy->kind = MapPolicy::Kind::kPpr;
  policy->per_resource = mapping.procs_per_resource();
  return {};
}

}  // namespace

v1::Mapping MappingOf(const std::string& map_by) {
  v1::Mapping out;
  const Result<MapPolicy> policy = host::ParseMapBy(map_by);
  if (!policy.ok()) return out;
  out.set_policy(PolicyOf(*policy));
  if (policy->kind == MapPolicy::Kind::kPpr) {
    out.set_procs_per_resource(policy->per_resource);
  }
  if (policy->pe_given) out.set_cpus_per_process(policy->pe);
  out.set_span(policy->span);
  return out;
}

MappingNeeds NeedsOf(const std::string& map_by) {
  MappingNeeds needs;
  const Result<MapPolicy> policy = host::ParseMapBy(map_by);
  if (!policy.ok()) return needs;
  if (policy->pe_given) needs.cpus_per_process = policy->pe;
  needs.slots_per_process = policy->pe;
  needs.not_here = policy->no_local;
  if (policy->kind == MapPolicy::Kind::kPpr && !policy->level) {
    needs.max_procs_per_node = policy->per_resource;
  }
  return needs;
}

Result<std::string> MapByOf(const v1::Mapping& mapping) {
  const Result<MapPolicy::Kind> kind = KindOf(mapping);
  if (!kind.ok()) return kind.status();
  MapPolicy policy;
  policy.kind = *kind;
  policy.level = LevelOf(mapping.policy());
  if (Status s = SetProcsPerResource(mapping, &policy); !s.ok()) return s;
  if (mapping.has_cpus_per_process()) {
    if (mapping.cpus_per_process() == 0) {
      return Status(kErrBadParam, "processes without CPUs");
    }
    policy.pe = mapping.cpus_per_process();
  }
  policy.span = mapping.span();
  return ToString(policy);
}

}  // namespace canopy::scheduler
