#include "server/library/arrivals.h"

#include <algorithm>
#include <set>

#include "common/codec/infos.h"
#include "common/time_units.h"
#include "pmix_common.h"
#include "server/core/collective/collective_plan.h"

namespace canopy::library {
namespace {

// The request number of a process that waits in its job's barrier. Requests
// that get an answer have other numbers.
constexpr core::RequestId kAtBarrier = 0;

// Returns the seconds, rounded up, because 0 would mean no timeout.
int Seconds(uint32_t ms) {
  return static_cast<int>((ms + kMsPerSecond - 1) / kMsPerSecond);
}

void AddMissing(const InfoList& from, InfoList* to) {
  for (const pmix_info_t& info : from) {
    if (!to->Has(KeyOf(info))) to->Append(info);
  }
}

}  // namespace

Arrivals::Series Arrivals::SeriesOf(core::CollectiveOp op,
                                    const std::vector<ProcId>& participants,
                                    const std::string& name) {
  if (core::IsGroupOp(op)) return {op, {}, name};
  return {op, participants, name};
}

// Adds an arrival. An arrival that the core refuses is removed with the reply.
void Arrivals::Add(const ProcId& proc, const core::CollectiveArrived& in) {
  std::vector<ProcId> participants = in.participants;
  if (!core::Canonicalise(proc.nspace, &participants).ok()) return;
  const auto series =
      waiting_.try_emplace(SeriesOf(in.op, participants, in.name)).first;
  const Request request{in.client, in.request};
  series->second.push_back(
      {request, {proc, in.collect_data, in.timeout_ms, in.info}});
  by_request_.emplace(request, series);
}

void Arrivals::AddAtBarrier(const ProcId& proc, core::ClientId client,
                            bool collect) {
  core::CollectiveArrived fence;
  fence.client = client;
  fence.request = kAtBarrier;
  fence.collect_data = collect;
  Add(proc, fence);
}

void Arrivals::RemoveAtBarrier(core::ClientId client) {
  Remove(client, kAtBarrier);
}

void Arrivals::Erase(All::iterator series, const Request& request) {
  Waiting& waiting = series->second;
  const auto it = std::ranges::find(
      waiting, request, [](const auto& arrival) { return arrival.first; });
  if (it != waiting.end()) waiting.erase(it);
  if (waiting.empty()) waiting_.erase(series);
}

void Arrivals::Remove(core::ClientId client, core::RequestId request) {
  const auto it = by_request_.find({client, request});
  if (it == by_request_.end()) return;
  const All::iterator series = it->second;
  by_request_.erase(it);
  Erase(series, {client, request});
}

void Arrivals::RemoveAll(core::ClientId client) {
  auto it = by_request_.lower_bound({client, 0});
  while (it != by_request_.end() && it->first.first == client) {
    const auto [request, series] = *it;
    it = by_request_.erase(it);
    Erase(series, request);
  }
}

Arrivals::Asked Arrivals::For(const core::CollectiveId& id) const {
  Asked asked;
  const auto series = waiting_.find(SeriesOf(id.op, id.participants, id.name));
  if (series == waiting_.end()) return asked;
  std::set<ProcId> seen;
  uint32_t timeout_ms = 0;
  for (const auto& [request, arrival] : series->second) {
    if (!seen.insert(arrival.proc).second) continue;
    asked.collect |= arrival.collect;
    timeout_ms = std::max(timeout_ms, arrival.timeout_ms);
    InfoList infos;
    if (DecodeInfos(arrival.info.view(), &infos)) {
      AddMissing(infos, &asked.infos);
    }
  }
  if (asked.collect) {
    asked.infos.Set(PMIX_COLLECT_DATA, Value::Bool(true));
  }
  if (timeout_ms > 0) {
    asked.infos.Set(PMIX_TIMEOUT, Value::Int(Seconds(timeout_ms)));
  }
  return asked;
}

}  // namespace canopy::library
