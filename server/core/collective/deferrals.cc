#include "server/core/collective/deferrals.h"

#include <utility>
#include <variant>

#include "common/status.h"
#include "server/core/collective/collective_messages.h"

namespace canopy::core {
namespace {

// Records that the collective must fail as soon as its participants are known.
void Refuse(const StepContext& step, Series& series,
            const DeferredCollective& one) {
  step.out.push_back(LogLine{
      LogLine::Level::kError,
      "too many collectives of jobs that are not known here; one fails"});
  if (const auto* up = std::get_if<DeferredUp>(&one.what)) {
    series.refused.insert(up->second.id.sequence);
  } else if (const auto* down = std::get_if<DeferredDown>(&one.what)) {
    series.refused.insert(down->second.id.sequence);
  }
}

}  // namespace

void Deferrals::Add(const StepContext& step, Series& series,
                    DeferredCollective one) {
  const bool is_arrival = std::holds_alternative<CollectiveArrived>(one.what);
  if (!is_arrival && held_ >= kMaxDeferred) return Refuse(step, series, one);
  if (one.deadline != kNever) {
    std::vector<DeadlineKey> unused;
    table_.AddDeadline(series, SeriesTable::kDeferred, step.now, one.deadline,
                       &unused);
  }
  ++held_;
  series.deferred.push_back(std::move(one));
}

std::vector<DeferredCollective> Deferrals::Take(Series& series) {
  held_ -= series.deferred.size();
  return std::exchange(series.deferred, {});
}

void Deferrals::Fail(const StepContext& step, Series& series, int status) {
  for (const DeferredCollective& one : Take(series)) {
    if (const auto* in = std::get_if<CollectiveArrived>(&one.what)) {
      Reply(step, *in, status);
    }
  }
}

void Deferrals::Expire(const StepContext& step, Series& series) {
  held_ -= std::erase_if(series.deferred, [&](const DeferredCollective& one) {
    if (one.deadline > step.now) return false;
    const auto& in = std::get<CollectiveArrived>(one.what);
    Reply(step, in, kErrTimeout);
    return true;
  });
}

void Deferrals::Drop(Series& series, ClientId client) {
  held_ -= std::erase_if(series.deferred, [&](const DeferredCollective& one) {
    const auto* in = std::get_if<CollectiveArrived>(&one.what);
    return in != nullptr && in->client == client;
  });
}

}  // namespace canopy::core
