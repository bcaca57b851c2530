#include "server/core/debug_holds.h"

#include <algorithm>
#include <vector>

namespace canopy::core {
namespace {

// Interval at which time limits are checked again while processes are held, in
// nanoseconds.
constexpr TimeNs kLook = 1'000'000'000;
// Maximum number of past intervals kept for each job. Beyond it, the two oldest
// are merged, including the time between them.
constexpr size_t kMaxPast = 16;

// Returns the total length of `spans`, which may overlap, within [from, to].
TimeNs Within(std::vector<std::pair<TimeNs, TimeNs>> spans, TimeNs from,
              TimeNs to) {
  std::ranges::sort(spans);
  TimeNs sum = 0;
  for (const auto& [begin, end] : spans) {
    const TimeNs first = std::max(begin, from);
    const TimeNs last = std::min(end, to);
    if (last <= first) continue;
    sum += last - first;
    from = last;
  }
  return sum;
}

}  // namespace

void DebugHolds::Note(TimeNs now, const std::string& nspace,
                      const HoldWord& word) {
  if (!jobs_.contains(nspace) && (!word.holds || !HasRoom())) return;
  Of& job = jobs_[nspace];
  HoldWord& last = job.words[word.node];
  if (word.number <= last.number) return;
  last = word;
  last.since = std::min(word.since, now);
  Update(now, nspace, &job);
}

void DebugHolds::Announce(const std::string& nspace, bool held) {
  if (events_ != nullptr) events_->Post(HoldChanged{nspace, held});
}

// Returns true if there is room for another job. If the table is full, makes
// room by erasing a job that is no longer held.
bool DebugHolds::HasRoom() {
  if (jobs_.size() < kMaxHeldJobs) return true;
  const auto over = std::ranges::find_if(
      jobs_, [](const auto& job) { return job.second.since == kNever; });
  if (over == jobs_.end()) return false;
  jobs_.erase(over);
  return true;
}

// A late notification may report that the hold began earlier than the other
// notifications did. The earliest time counts.
void DebugHolds::Update(TimeNs now, const std::string& nspace, Of* job) {
  TimeNs since = kNever;
  for (const auto& [node, word] : job->words) {
    if (word.holds) since = std::min(since, word.since);
  }
  const bool held = since != kNever;
  const bool was_held = job->since != kNever;
  if (held) {
    if (!job->past.empty()) since = std::max(since, job->past.back().second);
    job->since = std::min(job->since, since);
  }
  if (!held && was_held) End(now, job);
  if (held != was_held) Announce(nspace, held);
}

void DebugHolds::End(TimeNs now, Of* job) {
  job->past.emplace_back(job->since, now);
  job->since = kNever;
  if (job->past.size() <= kMaxPast) return;
  job->past[1].first = job->past[0].first;
  job->past.pop_front();
}

void DebugHolds::OnNodeLost(TimeNs now, NodeId node) {
  for (auto& [nspace, job] : jobs_) {
    if (job.words.erase(node) > 0) Update(now, nspace, &job);
  }
}

void DebugHolds::OnJobRemoved(const std::string& nspace) {
  if (Holds(nspace)) Announce(nspace, false);
  jobs_.erase(nspace);
}

bool DebugHolds::Holds(std::string_view nspace) const {
  const auto job = jobs_.find(nspace);
  return job != jobs_.end() && job->second.since != kNever;
}

TimeNs DebugHolds::DueAt(TimeNs now, TimeNs since, TimeNs when,
                         std::span<const std::string> nspaces) const {
  if (when == kNever || jobs_.empty()) return when;
  bool held = false;
  std::vector<Span> spans;
  for (const std::string& nspace : nspaces) {
    const auto job = jobs_.find(nspace);
    if (job == jobs_.end()) continue;
    const Of& of = job->second;
    spans.insert(spans.end(), of.past.begin(), of.past.end());
    if (of.since == kNever) continue;
    spans.emplace_back(of.since, now);
    held = true;
  }
  when += Within(std::move(spans), since, now);
  return held ? std::max(when, now + kLook) : when;
}

}  // namespace canopy::core
