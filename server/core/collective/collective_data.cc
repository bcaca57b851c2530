#include "server/core/collective/collective_data.h"

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "server/core/collective/group_record.h"

namespace canopy::core {
namespace {

bool IsOwnRank(const Job* job, const ProcId& proc, NodeId node) {
  return job != nullptr && proc.rank < job->num_ranks() &&
         job->agent_of(proc.rank) == node;
}

}  // namespace

Bytes OwnData(const Series& series, const ModexStore& modex,
              Instance* instance) {
  ModexWriter writer;
  instance->sent_versions.clear();
  for (size_t i = 0; i < series.members->local.size(); ++i) {
    const uint64_t base =
        series.acknowledged.empty() ? 0 : series.acknowledged[i];
    const RankUpdate update = modex.UpdateSince(series.members->local[i], base);
    instance->sent_versions.push_back(update.version);
    if (base == 0 || update.version > base) writer.Add(update);
  }
  return writer.Take();
}

std::string MembersData(const Series& series, const Instance& instance,
                        const ModexStore& modex) {
  ModexWriter writer;
  for (size_t i = 0; i < series.members->local.size(); ++i) {
    if (!instance.arrived[i]) continue;
    const RankUpdate update = modex.UpdateSince(series.members->local[i], 0);
    if (update.version > 0) writer.Add(update);
  }
  return std::string(writer.Take().view());
}

Contributions MembersDataOf(const Contributions& contributions) {
  Contributions data;
  for (const auto& [node, contribution] : contributions) {
    std::optional<GroupRecord> record = DecodeGroupRecord(contribution.data);
    if (!record || record->committed.empty()) continue;
    data.try_emplace(node, Contribution{Bytes(std::move(record->committed)),
                                        contribution.via});
  }
  return data;
}

void PublishData(const StepContext& step, NodeId self,
                 const Contributions& contributions, const JobTable& jobs,
                 ModexStore* modex) {
  for (const auto& [node, contribution] : contributions) {
    if (node == self) continue;
    ModexReader reader(contribution.data);
    RankUpdate update;
    while (reader.Next(&update)) {
      if (!IsOwnRank(jobs.Find(update.proc.nspace), update.proc, node)) {
        continue;
      }
      if (modex->StoreRemote(update)) {
        step.out.push_back(modex->TakeChange(update.proc));
      }
    }
    if (!reader.ok()) {
      step.out.push_back(LogLine{
          LogLine::Level::kError,
          "malformed data in a collective from node " + std::to_string(node)});
    }
  }
}

std::vector<NodeContribution> DataKnown(const Series& series, NodeId self,
                                        const JobTable& jobs,
                                        const ModexStore& modex) {
  std::map<NodeId, ModexWriter> contributions;
  const auto all = MembersWhere(series.id.participants, jobs,
                                [](NodeId, const RankState&) { return true; });
  for (const ProcId& proc : all) {
    const NodeId node = jobs.Find(proc.nspace)->agent_of(proc.rank);
    RankUpdate update = modex.UpdateSince(proc, 0);
    if (update.version == 0) continue;
    if (node != self) update.kvals = modex.SeenHere(proc);
    contributions[node].Add(update);
  }
  std::vector<NodeContribution> data;
  for (auto& [node, writer] : contributions) {
    data.push_back({node, writer.Take()});
  }
  return data;
}

}  // namespace canopy::core
