#include "server/core/collective/reattached_counts.h"

#include <optional>
#include <utility>

#include "common/status.h"
#include "server/core/collective/collective_plan.h"

namespace canopy::core {
namespace {

std::optional<CollectiveId> IdOf(const CollectiveCount& count,
                                 const ProcId& proc, const JobTable& jobs) {
  if (CheckCounts(count.participants, proc.nspace, jobs) != kSuccess) {
    return std::nullopt;
  }
  CollectiveId id{count.op, count.participants, 0, count.name};
  if (IsGroupOp(id.op) && (id.participants.empty() || id.name.empty() ||
                           id.name.size() > kMaxNspaceLen)) {
    return std::nullopt;
  }
  if (!Canonicalise(proc.nspace, &id.participants).ok()) return std::nullopt;
  if (IsGroupOp(id.op)) NameWholeJobs(jobs, &id.participants);
  return id;
}

}  // namespace

std::map<CollectiveId, uint64_t> CountsOf(
    const std::vector<CollectiveCount>& counts, const ProcId& proc,
    const JobTable& jobs) {
  std::map<CollectiveId, uint64_t> out;
  for (const CollectiveCount& count : counts) {
    const std::optional<CollectiveId> id = IdOf(count, proc, jobs);
    if (id) out[*id] += count.ended;
  }
  return out;
}

void RenameCounts(const std::string& nspace, const JobTable& jobs,
                  SeriesTable* table) {
  std::map<CollectiveId, std::map<ProcId, uint64_t>> renamed;
  for (auto& [id, series] : table->all()) {
    if (!IsGroupOp(id.op) || series.members || series.reattached.empty() ||
        !series.Names(nspace) ||
        !UnknownNspaces(id.participants, jobs, 1).empty()) {
      continue;
    }
    CollectiveId named = series.id;
    NameWholeJobs(jobs, &named.participants);
    if (named.participants == id.participants) continue;
    for (const auto& [proc, ended] : std::exchange(series.reattached, {})) {
      renamed[named][proc] += ended;
    }
  }
  for (const auto& [id, counts] : renamed) {
    for (const auto& [proc, ended] : counts) {
      Series* series = table->FindOrAddFor(proc.nspace, id);
      if (series != nullptr) series->reattached[proc] += ended;
    }
  }
}

}  // namespace canopy::core
