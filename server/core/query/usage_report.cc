#include "server/core/query/usage_report.h"

#include <algorithm>

#include "common/codec/infos.h"
#include "common/status.h"
#include "common/values/value.h"
#include "pmix_common.h"

namespace canopy::core {
namespace {

bool IsDevice(const pmix_info_t& info) {
  return KeyOf(info) == PMIX_DISK_RESOURCE_USAGE ||
         KeyOf(info) == PMIX_NETWORK_RESOURCE_USAGE;
}

}  // namespace

int UsageReport::Make(const UsageScope& scope, Bytes* results) const {
  InfoList report;
  if (wanted_.fields.proc != 0) AddProcesses(scope, &report);
  for (const NodeId node : scope.nodes()) AddNode(node, &report);
  if (report.empty()) return kSuccess;
  std::string encoded;
  const int status = EncodeInfos(report.data(), report.size(), &encoded);
  if (status != kSuccess) return status;
  if (encoded.size() > kMaxUsageBytes) return kErrOutOfResource;
  *results = Bytes(std::move(encoded));
  return kSuccess;
}

void UsageReport::AddProcesses(const UsageScope& scope,
                               InfoList* report) const {
  for (const Job* job : scope.jobs()) {
    const auto processes = facts_.processes.find(job->nspace());
    if (processes == facts_.processes.end()) continue;
    for (const auto& [rank, process] : processes->second) {
      InfoList statistics;
      if (process.usage.empty() || !scope.Has(*job, process) ||
          !DecodeInfos(process.usage.view(), &statistics)) {
        continue;
      }
      const JobNode& node = job->spec->nodes[job->spec->procs[rank].node];
      InfoList one{{PMIX_PROCID, Value::Proc({job->nspace(), rank})},
                   {PMIX_PROC_PID, Value::Pid(process.pid)},
                   {PMIX_HOSTNAME, Value::String(node.name)}};
      one.Append(statistics);
      report->Add(PMIX_PROC_RESOURCE_USAGE, Value::InfoArray(one));
    }
  }
}

bool UsageReport::IsWanted(const pmix_info_t& device) const {
  const auto infos = InfosOf(device.value);
  if (!infos || infos->empty()) return false;
  const bool is_disk = KeyOf(device) == PMIX_DISK_RESOURCE_USAGE;
  const std::vector<std::string>& wanted =
      is_disk ? wanted_.targets.disks : wanted_.targets.nets;
  const auto name = StringOf((*infos)[0].value);
  return wanted.empty() || (name && std::ranges::count(wanted, *name) > 0);
}

// Adds the infos of a device. The device's name remains the first of them.
void UsageReport::AddDevice(NodeId node, const pmix_info_t& device,
                            InfoList* report) const {
  const auto infos = *InfosOf(device.value);
  InfoList one;
  one.Append(infos[0]);
  one.Add(PMIX_HOSTNAME, Value::String(node_names_[node]));
  for (const pmix_info_t& info : infos.subspan(1)) one.Append(info);
  report->Add(KeyOf(device), Value::InfoArray(one));
}

void UsageReport::AddNode(NodeId node, InfoList* report) const {
  const auto usage = facts_.usage.find(node);
  InfoList statistics;
  if (usage == facts_.usage.end() || usage->second.empty() ||
      node >= node_names_.size() ||
      !DecodeInfos(usage->second.view(), &statistics)) {
    return;
  }
  InfoList one{{PMIX_HOSTNAME, Value::String(node_names_[node])},
               {PMIX_NODEID, Value::Uint32(node)}};
  const bool of_node = wanted_.fields.node != 0;
  for (const pmix_info_t& info : statistics) {
    if (!IsDevice(info)) {
      one.Append(info);
    } else if (IsWanted(info)) {
      if (of_node) one.Append(info);
      if (!of_node) AddDevice(node, info, report);
    }
  }
  if (of_node) report->Add(PMIX_NODE_RESOURCE_USAGE, Value::InfoArray(one));
}

}  // namespace canopy::core
