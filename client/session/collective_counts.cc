#include "client/session/collective_counts.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/describe.h"
#include "common/ids.h"
#include "common/local/collectives.h"
#include "common/local/greeting.h"
#include "common/refusal.h"
#include "common/status.h"

namespace canopy::client {
namespace {

using local::CollectiveOp;
using local::Series;

// The encoded series of a Collective, which identifies the series as the caller
// has named it.
struct EncodedSeries {
  std::string_view series;
};

template <typename V>
void Describe(V& v, wire::Is<EncodedSeries> auto& m) {
  v.Field(local::kSeriesField, m.series);
}

// Returns the encoded series of a request; empty if the request is malformed.
std::string_view SeriesIn(std::string_view request) {
  EncodedSeries encoded;
  return wire::Decode(request, &encoded) ? encoded.series : std::string_view();
}

// Converts a list of participants into the form that all lists of the same
// processes share.
void Normalise(const std::string& own_nspace, Series* series) {
  std::vector<ProcView>& procs = series->participants;
  for (ProcView& proc : procs) {
    if (proc.nspace.empty()) proc.nspace = own_nspace;
  }
  if (procs.empty()) procs = {{own_nspace, kRankWildcard}};
  std::sort(procs.begin(), procs.end());
  procs.erase(std::unique(procs.begin(), procs.end()), procs.end());
}

}  // namespace

void CollectiveCounts::Add(std::string_view request, int status) {
  if (IsRefusal(status) || status == kErrLostConnection) return;
  const std::string_view series = SeriesIn(request);
  if (series.empty()) return;
  const MutexLock lock(mu_);
  const auto it = ended_.find(series);
  if (it != ended_.end()) {
    ++it->second;
  } else {
    ended_.emplace(series, 1);
  }
  if (status == kSuccess || status == kErrPartialSuccess) {
    NoteConstruct(series);
  }
}

// Records a construct. A process that can construct the group again is not a
// member any more, so the destruct of the former group is over for it.
void CollectiveCounts::NoteConstruct(std::string_view encoded) {
  Series series;
  if (!wire::Decode(encoded, &series) ||
      series.op != CollectiveOp::kGroupConstruct) {
    return;
  }
  series.op = CollectiveOp::kGroupDestruct;
  std::string end = wire::Encode(series);
  if (left_.erase(end) > 0) ++ended_[end];
  ends_[std::string(series.name)] = std::move(end);
}

void CollectiveCounts::AddGroupCall(std::string_view request, int status) {
  local::GroupCall call;
  if (status != kSuccess || !wire::Decode(request, &call) ||
      call.step != local::GroupStep::kLeave) {
    return;
  }
  const MutexLock lock(mu_);
  const auto end = ends_.find(call.group);
  if (end != ends_.end()) left_.insert(end->second);
}

std::string CollectiveCounts::Encode(const std::string& own_nspace) const {
  std::map<Series, uint64_t> counts;
  const MutexLock lock(mu_);
  for (const auto& [encoded, ended] : ended_) {
    Series series;
    if (!wire::Decode(encoded, &series)) continue;
    if (!IsGroupOp(series.op)) Normalise(own_nspace, &series);
    counts[std::move(series)] += ended;
  }
  if (const uint64_t whole = whole_.load(std::memory_order_relaxed)) {
    counts[{CollectiveOp::kFence, {}, {{own_nspace, kRankWildcard}}}] += whole;
  }
  local::Reattach frame;
  for (const auto& [series, ended] : counts) {
    frame.counts.push_back({series, ended});
  }
  return wire::Encode(frame);
}

}  // namespace canopy::client
