// Arrivals and messages that wait for the map of a job.
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/status.h"
#include "server/core/collective/collective.h"
#include "server/core/collective/collective_messages.h"
#include "server/core/collective/collective_plan.h"

namespace canopy::core {

void Collectives::Defer(StepContext& step, Series& series,
                        DeferredCollective one) {
  const bool is_arrival = std::holds_alternative<CollectiveArrived>(one.what);
  if (!is_arrival && num_deferred_ >= kMaxDeferred) {
    return Refuse(step, series, one);
  }
  if (one.deadline != kNever) {
    std::vector<DeadlineKey> unused;
    table_.AddDeadline(series, SeriesTable::kDeferred, step.now, one.deadline,
                       &unused);
  }
  ++num_deferred_;
  series.deferred.push_back(std::move(one));
}

// The message is dropped: its collective fails as soon as it is known who takes
// part.
void Collectives::Refuse(StepContext& step, Series& series,
                         const DeferredCollective& one) {
  step.out.push_back(LogLine{
      LogLine::Level::kError,
      "too many collectives of jobs that are not known here; one fails"});
  if (const auto* up =
          std::get_if<std::pair<NodeId, CollectiveUp>>(&one.what)) {
    series.refused.insert(up->second.id.sequence);
  } else if (const auto* down =
                 std::get_if<std::pair<NodeId, CollectiveDown>>(&one.what)) {
    series.refused.insert(down->second.id.sequence);
  }
}

void Collectives::TakeUpDeferred(StepContext& step, Series& series) {
  std::vector<DeferredCollective> all = std::exchange(series.deferred, {});
  num_deferred_ -= all.size();
  // With all maps, a group's participants may be named otherwise: the arrivals
  // are of another series.
  std::vector<ProcId> named = series.id.participants;
  if (IsGroupOp(series.id.op)) NameWholeJobs(jobs_, &named);
  const bool renamed = named != series.id.participants;
  for (DeferredCollective& one : all) {
    if (const auto* in = std::get_if<CollectiveArrived>(&one.what)) {
      if (renamed) {
        Admit(step, *in, one.deadline);
      } else {
        Arrive(step, series, *in, one.deadline);
      }
    } else if (const auto* up =
                   std::get_if<std::pair<NodeId, CollectiveUp>>(&one.what)) {
      progress_.ApplyUp(step, series, up->first, up->second);
    } else {
      const auto& down = std::get<std::pair<NodeId, CollectiveDown>>(one.what);
      progress_.ApplyDown(step, series, down.first, down.second);
    }
  }
  for (const uint64_t sequence : std::exchange(series.refused, {})) {
    CollectiveUp failure{series.id, kErrOutOfResource, {}, {}};
    failure.id.sequence = sequence;
    progress_.ApplyUp(step, series, self_, failure);
  }
}

// With its map, a job that takes part as a whole is named otherwise. A process
// may have named one group in several ways.
void Collectives::RenameCounts(const std::string& nspace) {
  std::map<CollectiveId, std::map<ProcId, uint64_t>> renamed;
  for (auto& [id, series] : table_.all()) {
    if (!IsGroupOp(id.op) || series.members || series.reattached.empty() ||
        !series.Names(nspace) ||
        !UnknownNspaces(id.participants, jobs_, 1).empty()) {
      continue;
    }
    CollectiveId named = series.id;
    NameWholeJobs(jobs_, &named.participants);
    if (named.participants == id.participants) continue;
    for (const auto& [proc, ended] : std::exchange(series.reattached, {})) {
      renamed[named][proc] += ended;
    }
  }
  for (const auto& [id, counts] : renamed) {
    for (const auto& [proc, ended] : counts) {
      Series* series = table_.FindOrAddFor(proc.nspace, id);
      if (series != nullptr) series->reattached[proc] += ended;
    }
  }
}

void Collectives::FailDeferred(StepContext& step, Series& series, int status) {
  std::vector<DeferredCollective> all = std::exchange(series.deferred, {});
  num_deferred_ -= all.size();
  for (const DeferredCollective& one : all) {
    if (const auto* in = std::get_if<CollectiveArrived>(&one.what)) {
      Reply(step, in->client, in->request, status);
    }
  }
}

void Collectives::ExpireDeferred(StepContext& step, Series& series) {
  num_deferred_ -=
      std::erase_if(series.deferred, [&](const DeferredCollective& one) {
        if (one.deadline > step.now) return false;
        const auto& in = std::get<CollectiveArrived>(one.what);
        Reply(step, in.client, in.request, kErrTimeout);
        return true;
      });
}

}  // namespace canopy::core
