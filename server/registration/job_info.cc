#include "server/registration/job_info.h"

#include <array>
#include <span>
#include <string_view>

#include "common/codec/decoder.h"
#include "common/values/regex.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "server/registration/realm_keys.h"

namespace canopy::registration {
namespace {

constexpr std::array kNamesOfJob =
    std::to_array<std::string_view>({PMIX_NSPACE});
constexpr std::array kNamesOfApp =
    std::to_array<std::string_view>({PMIX_APPNUM});

void AddEncoded(std::string_view key, const std::string& value,
                InfoList* infos) {
  if (value.empty()) return;
  auto decoded = DecodeValue(value);
  if (decoded.ok()) infos->Add(key, *std::move(decoded));
}

void AddKeys(const Keys& keys, std::span<const std::string_view> without,
             InfoList* infos) {
  for (const auto& [key, value] : keys) {
    if (!IsAnyOf(key, without)) AddEncoded(key, value, infos);
  }
}

void AddMissing(std::string_view key, Value value, InfoList* infos) {
  if (!infos->Has(key)) infos->Add(key, std::move(value));
}

Value NodeMap(const JobSpec& job) {
  std::vector<std::string> names;
  for (const JobNode& node : job.nodes) names.push_back(node.name);
  return Value::String(CompressNodeList(JoinNames(names)));
}

Value RankMap(const JobSpec& job) {
  std::vector<std::string> ranks(job.nodes.size());
  for (size_t rank = 0; rank < job.procs.size(); ++rank) {
    std::string& list = ranks[job.procs[rank].node];
    if (!list.empty()) list += ',';
    list += std::to_string(rank);
  }
  std::string map;
  for (size_t node = 0; node < ranks.size(); ++node) {
    if (node != 0) map += ';';
    map += ranks[node];
  }
  return Value::String(CompressRankMap(map));
}

InfoList DescribeApp(const Registration& told, size_t app) {
  InfoList infos;
  infos.Add(PMIX_APPNUM, Value::Uint32(static_cast<uint32_t>(app)));
  AddKeys(told.apps[app], kNamesOfApp, &infos);
  AddMissing(PMIX_APP_SIZE, Value::Uint32(told.job.apps[app].num_procs),
             &infos);
  return infos;
}

InfoList DescribeNode(const Registration& told, size_t index) {
  const JobNode& node = told.job.nodes[index];
  InfoList infos;
  infos.Add(PMIX_HOSTNAME, Value::String(node.name));
  infos.Add(PMIX_NODEID, Value::Uint32(node.agent));
  if (!node.aliases.empty()) {
    infos.Add(PMIX_HOSTNAME_ALIASES, Value::String(JoinNames(node.aliases)));
  }
  AddKeys(told.nodes[index], kNamesOfNode, &infos);
  return infos;
}

InfoList DescribeProc(const Registration& told, size_t rank) {
  const Proc& proc = told.procs[rank];
  InfoList infos{{PMIX_RANK, Value::Rank(static_cast<Rank>(rank))},
                 {PMIX_APPNUM, Value::Uint32(told.job.procs[rank].app)},
                 {PMIX_APP_RANK, Value::Rank(proc.numbers.app_rank)},
                 {PMIX_GLOBAL_RANK, Value::Rank(proc.global_rank)},
                 {PMIX_LOCAL_RANK, Value::Uint16(proc.numbers.local_rank)},
                 {PMIX_NODE_RANK, Value::Uint16(proc.numbers.node_rank)},
                 {PMIX_REINCARNATION, Value::Uint32(proc.reincarnation)}};
  if (proc.package_rank) {
    infos.Add(PMIX_PACKAGE_RANK, Value::Uint16(*proc.package_rank));
  }
  AddEncoded(PMIX_CPUSET, proc.cpuset, &infos);
  AddEncoded(PMIX_CPUSET_BITMAP, proc.cpuset_bitmap, &infos);
  AddEncoded(PMIX_LOCALITY_STRING, proc.locality, &infos);
  AddEncoded(PMIX_PROCDIR, proc.procdir, &infos);
  AddKeys(proc.keys, {}, &infos);
  return infos;
}

}  // namespace

InfoList DescribeJob(const Registration& told) {
  InfoList job{{PMIX_NSPACE, Value::String(told.job.nspace)}};
  std::vector<std::string_view> without(kNodeKeys.begin(), kNodeKeys.end());
  without.insert(without.end(), kNamesOfJob.begin(), kNamesOfJob.end());
  AddKeys(told.job_keys, without, &job);
  const auto size = static_cast<uint32_t>(told.job.procs.size());
  if (!told.no_data) AddMissing(PMIX_JOB_SIZE, Value::Uint32(size), &job);
  if (size != 0) {
    AddMissing(PMIX_NODE_MAP, NodeMap(told.job), &job);
    AddMissing(PMIX_PROC_MAP, RankMap(told.job), &job);
  }
  for (size_t i = 0; i < told.apps.size(); ++i) {
    job.Add(PMIX_APP_INFO_ARRAY, Value::InfoArray(DescribeApp(told, i)));
  }
  for (size_t i = 0; i < told.nodes.size(); ++i) {
    job.Add(PMIX_NODE_INFO_ARRAY, Value::InfoArray(DescribeNode(told, i)));
  }
  for (size_t i = 0; i < told.procs.size(); ++i) {
    job.Add(PMIX_PROC_INFO_ARRAY, Value::InfoArray(DescribeProc(told, i)));
  }
  InfoList infos;
  infos.Add(PMIX_JOB_INFO_ARRAY, Value::InfoArray(job));
  return infos;
}

}  // namespace canopy::registration
