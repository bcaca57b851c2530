#include "server/monitor/usage_call.h"

#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "server/core/step/usage_keys.h"

namespace canopy::monitor {
namespace {

using core::UsageFields;
using core::UsageTargets;

Status BadCall(const std::string& text) { return Status(kErrBadParam, text); }

// The elements of an array of one type. An array without elements is valid,
// whatever its type.
template <typename T>
struct Elements {
  bool valid = true;
  std::span<const T> values;
};

template <typename T>
Elements<T> ElementsOf(const pmix_value_t& value, pmix_data_type_t type) {
  if (value.type == PMIX_UNDEF) return {};
  if (value.type != PMIX_DATA_ARRAY) return {false, {}};
  const pmix_data_array_t* array = value.data.darray;
  if (array == nullptr || array->array == nullptr || array->size == 0) {
    return {};
  }
  if (array->type != type) return {false, {}};
  return {true, {static_cast<const T*>(array->array), array->size}};
}

// ----------------------------------------------------------- statistics ---

bool AddName(const pmix_value_t& value, std::vector<std::string>* names) {
  const auto name = StringOf(value);
  if (!name || name->empty() || name->size() > kMaxTargetName) return false;
  if (names->size() < kMaxTargets) names->emplace_back(*name);
  return true;
}

// The kinds of statistics that a call with this key may list.
struct Kinds {
  std::string_view key;
  bool proc = false;
  bool node = false;
  bool disk = false;
  bool net = false;
};
constexpr Kinds kKinds[] = {
    {PMIX_MONITOR_PROC_RESOURCE_USAGE, true},
    {PMIX_MONITOR_NODE_RESOURCE_USAGE, false, true, true, true},
    {PMIX_MONITOR_DISK_RESOURCE_USAGE, false, false, true},
    {PMIX_MONITOR_NET_RESOURCE_USAGE, false, false, false, true},
};

const Kinds* KindsOf(std::string_view key) {
  for (const Kinds& kinds : kKinds) {
    if (kinds.key == key) return &kinds;
  }
  return nullptr;
}

UsageFields AllFields(const Kinds& kinds) {
  UsageFields all;
  if (kinds.proc) all.proc = core::AllUsage(core::kProcUsage);
  if (kinds.node) all.node = core::AllUsage(core::kNodeUsage);
  if (kinds.disk) all.disk = core::AllUsage(core::kDiskUsage);
  if (kinds.net) all.net = core::AllUsage(core::kNetUsage);
  return all;
}

// Reads the list of requested statistics. The name of a device in the list also
// restricts the call to that device.
Status ReadFields(const Kinds& kinds, const pmix_value_t& value,
                  UsageCall* call) {
  const auto list = ElementsOf<pmix_info_t>(value, PMIX_INFO);
  if (!list.valid) return BadCall("the list of statistics is not one of infos");
  const UsageFields all = AllFields(kinds);
  bool valid = true;
  for (const pmix_info_t& info : list.values) {
    const std::string_view key = KeyOf(info);
    UsageFields& fields = call->fields;
    fields.proc |= core::UsageBit(core::kProcUsage, key) & all.proc;
    fields.node |= core::UsageBit(core::kNodeUsage, key) & all.node;
    fields.disk |= core::UsageBit(core::kDiskUsage, key) & all.disk;
    fields.net |= core::UsageBit(core::kNetUsage, key) & all.net;
    if (key == PMIX_DISK_ID) {
      valid &= AddName(info.value, &call->targets.disks);
    } else if (key == PMIX_NETWORK_ID) {
      valid &= AddName(info.value, &call->targets.nets);
    }
  }
  if (!valid) return BadCall("a disk or an interface has no name");
  const bool only_names =
      !call->targets.disks.empty() || !call->targets.nets.empty();
  if (list.values.empty() || (!call->fields.any() && only_names)) {
    call->fields = all;
  }
  if (call->fields.any()) return Status();
  return Status(kErrNotSupported, "none of these statistics is measured");
}

// -------------------------------------------------------------- targets ---

Status TooMany() { return Status(kErrOutOfResource, "too many targets"); }

Status ReadProcs(const pmix_value_t& value, UsageTargets* targets) {
  const auto procs = ElementsOf<pmix_proc_t>(value, PMIX_PROC);
  if (!procs.valid) return BadCall("the targets are not processes");
  if (targets->procs.size() + procs.values.size() > kMaxTargets) {
    return TooMany();
  }
  for (const pmix_proc_t& proc : procs.values) {
    targets->procs.push_back(FromC(proc));
    if (targets->procs.back().nspace.empty()) {
      return BadCall("a target has no namespace");
    }
  }
  return Status();
}

Status ReadPids(const pmix_value_t& value, UsageTargets* targets) {
  const auto pids = ElementsOf<pmix_node_pid_t>(value, PMIX_NODE_PID);
  if (!pids.valid) return BadCall("the targets are not process IDs of nodes");
  if (targets->pids.size() + pids.values.size() > kMaxTargets) {
    return TooMany();
  }
  for (const pmix_node_pid_t& one : pids.values) {
    core::NodePid pid;
    if (one.hostname != nullptr) pid.host = one.hostname;
    pid.nodeid = one.nodeid;
    pid.pid = one.pid;
    if (pid.host.size() > kMaxTargetName)
      return BadCall("a host name is too long");
    targets->pids.push_back(std::move(pid));
  }
  return Status();
}

Status ReadNames(const pmix_value_t& value, std::vector<std::string>* names) {
  const auto strings = ElementsOf<char*>(value, PMIX_STRING);
  if (!strings.valid) return BadCall("the targets are not names");
  if (names->size() + strings.values.size() > kMaxTargets) return TooMany();
  for (const char* name : strings.values) {
    if (name == nullptr || *name == '\0')
      return BadCall("a target has no name");
    names->emplace_back(name);
    if (names->back().size() > kMaxTargetName)
      return BadCall("a name is too long");
  }
  return Status();
}

Status ReadNodeIds(const pmix_value_t& value, UsageTargets* targets) {
  const auto ids = ElementsOf<uint32_t>(value, PMIX_UINT32);
  if (!ids.valid) return BadCall("the targets are not numbers of nodes");
  if (targets->nodeids.size() + ids.values.size() > kMaxTargets) {
    return TooMany();
  }
  targets->nodeids.insert(targets->nodeids.end(), ids.values.begin(),
                          ids.values.end());
  return Status();
}

Status ReadTarget(const pmix_info_t& info, UsageTargets* targets) {
  const std::string_view key = KeyOf(info);
  if (key == PMIX_MONITOR_TARGET_PROCS) return ReadProcs(info.value, targets);
  if (key == PMIX_MONITOR_TARGET_PIDS) return ReadPids(info.value, targets);
  if (key == PMIX_MONITOR_TARGET_NODES) {
    return ReadNames(info.value, &targets->hosts);
  }
  if (key == PMIX_MONITOR_TARGET_NODEIDS) {
    return ReadNodeIds(info.value, targets);
  }
  if (key == PMIX_MONITOR_TARGET_DISKS) {
    return ReadNames(info.value, &targets->disks);
  }
  if (key == PMIX_MONITOR_TARGET_NETS) {
    return ReadNames(info.value, &targets->nets);
  }
  if (key == PMIX_MONITOR_LOCAL_ONLY) {
    targets->local_only = BoolOf(info.value).value_or(true);
  }
  return Status();
}

Status CheckNumber(const UsageTargets& targets) {
  std::set<std::string_view> hosts(targets.hosts.begin(), targets.hosts.end());
  for (const core::NodePid& pid : targets.pids) hosts.insert(pid.host);
  std::set<std::string_view> jobs;
  for (const ProcId& proc : targets.procs) jobs.insert(proc.nspace);
  const bool fits =
      hosts.size() <= kMaxTargetHosts && jobs.size() <= kMaxTargetJobs;
  return fits ? Status() : TooMany();
}

}  // namespace

bool IsOfUsage(std::string_view key) { return KindsOf(key) != nullptr; }

Result<UsageCall> ReadUsageCall(const pmix_info_t& what,
                                const InfoList& directives) {
  const Kinds* kinds = KindsOf(KeyOf(what));
  if (kinds == nullptr) return Status(kErrNotSupported, "not of usage");
  UsageCall call;
  Status status = ReadFields(*kinds, what.value, &call);
  for (const pmix_info_t& info : directives) {
    if (status.ok()) status = ReadTarget(info, &call.targets);
  }
  if (status.ok()) status = CheckNumber(call.targets);
  if (!status.ok()) return status;
  return call;
}

}  // namespace canopy::monitor
