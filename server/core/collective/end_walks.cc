#include "server/core/collective/end_walks.h"

#include <algorithm>
#include <utility>

namespace canopy::core {
namespace {

// Value of Walk::sequence for a series that the ends do not concern.
constexpr uint64_t kNoSequence = UINT64_MAX;
// Units of work for the check of one collective, and for its failure if the
// check ends it.
constexpr size_t kUnitsOfCheck = 10;

// Spends `amount` units, or those that are left if these are fewer. Returns
// false if none was left.
bool Spend(size_t amount, size_t* units) {
  if (*units == 0) return false;
  *units -= std::min(amount, *units);
  return true;
}

}  // namespace

void EndWalks::Add(const StepContext& step, const ProcId& proc, bool lost) {
  const auto [it, is_new] = walks_.try_emplace(proc.nspace);
  Walk& walk = it->second;
  (is_new ? walk.gone : walk.later).push_back({proc, lost});
  if (std::exchange(slice_time_, step.now) != step.now) slice_left_ = kSlice;
  if (slice_left_ > 0) Run(step, proc.nspace, &slice_left_);
}

void EndWalks::Continue(const StepContext& step) {
  std::vector<std::string> jobs;
  for (const auto& [nspace, walk] : walks_) jobs.push_back(nspace);
  for (const std::string& nspace : jobs) {
    size_t units = std::max<size_t>(kSlice / jobs.size(), 1);
    Run(step, nspace, &units);
  }
}

void EndWalks::Finish(const StepContext& step, const std::string& nspace) {
  size_t units = SIZE_MAX;
  Run(step, nspace, &units);
}

bool EndWalks::Run(const StepContext& step, const std::string& nspace,
                   size_t* units) {
  const auto it = walks_.find(nspace);
  if (it == walks_.end()) return true;
  Walk& walk = it->second;
  for (;;) {
    Series* const series = table_.NextOf(nspace, walk.series);
    if (series != nullptr) {
      if (!Visit(step, *series, &walk, units)) return false;
      walk.series = series->number + 1;
      walk.begun = false;
    } else if (!walk.later.empty()) {
      Walk next;
      next.gone = std::move(walk.later);
      walk = std::move(next);
    } else {
      walks_.erase(it);
      return true;
    }
  }
}

// Does the pending work for the series. Begins anew if the series of the last
// visit was erased.
bool EndWalks::Visit(const StepContext& step, Series& series, Walk* walk,
                     size_t* units) {
  if (series.number != std::exchange(walk->series, series.number)) {
    walk->begun = false;
  }
  if (*units == 0) return false;
  if (!std::exchange(walk->begun, true)) Begin(series, walk, units);
  while (walk->sequence != kNoSequence) {
    const auto next = series.active.lower_bound(walk->sequence);
    if (next == series.active.end()) break;
    if (!Spend(kUnitsOfCheck + series.suspects.size(), units)) return false;
    const uint64_t sequence = next->first;
    walk->sequence = sequence + 1;
    if (!progress_.EndIfGone(step, series, sequence)) {
      progress_.Advance(step, series, sequence);
    }
  }
  while (!walk->lost.empty()) {
    if (!Spend(kUnitsOfCheck + series.suspects.size(), units)) return false;
    FailNext(step, series, walk->lost.front());
    walk->lost.erase(walk->lost.begin());
  }
  return true;
}

void EndWalks::Begin(Series& series, Walk* walk, size_t* units) {
  walk->lost.clear();
  walk->sequence = kNoSequence;
  (void)Spend(1 + walk->gone.size() / 8, units);
  if (!series.members) return;
  for (const Gone& one : walk->gone) {
    if (!series.Includes(one.proc)) continue;
    series.suspects.push_back(one.proc);
    walk->sequence = 0;
    if (one.lost && series.members->LocalIndex(one.proc) >= 0) {
      walk->lost.push_back(one.proc);
    }
  }
}

void EndWalks::FailNext(const StepContext& step, Series& series,
                        const ProcId& lost) {
  const int index = series.members->LocalIndex(lost);
  if (index < 0) return;
  const uint64_t sequence = series.arrivals[index];
  if (series.IsOver(sequence)) return;
  progress_.FindOrBegin(step.now, series, sequence);
  if (!progress_.EndIfGone(step, series, sequence)) {
    progress_.Advance(step, series, sequence);
  }
}

}  // namespace canopy::core
