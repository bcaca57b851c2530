#include "client/session/collective_counts.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "client/session/operation_numbers.h"
#include "common/ids.h"
#include "common/refusal.h"
#include "common/status.h"
#include "common/wire.h"

namespace canopy::client {
namespace {

using Key = std::pair<uint64_t, std::vector<ProcId>>;

constexpr uint64_t Number(CollectiveOperation operation) {
  return static_cast<uint64_t>(operation);
}

// A set of participants has one key, in whichever form it was named.
Key Read(std::string_view request, const std::string& own_nspace) {
  WireReader in(request);
  Key key;
  key.first = in.Uint();
  key.second.resize(in.Count(2));
  for (ProcId& proc : key.second) {
    proc = in.Proc();
    if (proc.nspace.empty()) proc.nspace = own_nspace;
  }
  if (key.second.empty()) key.second = {{own_nspace, kRankWildcard}};
  std::sort(key.second.begin(), key.second.end());
  key.second.erase(std::unique(key.second.begin(), key.second.end()),
                   key.second.end());
  return key;
}

// Returns the beginning of a request, which identifies its series; empty if the
// request is malformed.
std::string_view SetOf(std::string_view request, bool is_group) {
  WireReader in(request);
  in.Uint();
  if (is_group) in.String();
  const size_t n = in.Count(2);
  for (size_t i = 0; i < n; ++i) {
    in.String();
    in.Uint();
  }
  if (!in.ok()) return {};
  return request.substr(0, request.size() - in.rest().size());
}

}  // namespace

void CollectiveCounts::Add(std::string_view request, int status) {
  const MutexLock lock(mu_);
  Count(request, false, status, &ended_);
}

void CollectiveCounts::AddGroup(std::string_view request, int status) {
  const MutexLock lock(mu_);
  Count(request, true, status, &groups_);
  if (status == kSuccess || status == kErrPartialSuccess) {
    NoteConstruct(request);
  }
}

// A process that can construct the group again is not in it any more, so the
// group's destruct is over.
void CollectiveCounts::NoteConstruct(std::string_view request) {
  WireReader in(SetOf(request, true));
  if (in.Uint() != Number(CollectiveOperation::kGroupConstruct)) return;
  WireWriter end;
  end.Uint(Number(CollectiveOperation::kGroupDestruct));
  end.Raw(in.rest());
  const std::string name(in.String());
  if (!in.ok()) return;
  if (left_.erase(end.str()) > 0) ++groups_[end.str()];
  ends_[name] = end.Take();
}

void CollectiveCounts::AddGroupCall(std::string_view request, int status) {
  WireReader in(request);
  const auto call = static_cast<GroupCall>(in.Uint());
  const std::string_view name = in.String();
  if (!in.ok() || call != GroupCall::kLeave || status != kSuccess) return;
  const MutexLock lock(mu_);
  const auto end = ends_.find(name);
  if (end != ends_.end()) left_.insert(end->second);
}

void CollectiveCounts::Count(std::string_view request, bool is_group,
                             int status, Counts* counts) {
  if (IsRefusal(status) || status == kErrLostConnection) return;
  const std::string_view set = SetOf(request, is_group);
  if (set.empty()) return;
  const auto it = counts->find(set);
  if (it != counts->end()) {
    ++it->second;
  } else {
    counts->emplace(set, 1);
  }
}

std::string CollectiveCounts::Encode(const std::string& own_nspace) const {
  std::map<Key, uint64_t> counts;
  {
    const MutexLock lock(mu_);
    for (const auto& [set, ended] : ended_) {
      counts[Read(set, own_nspace)] += ended;
    }
  }
  if (const uint64_t whole = whole_.load(std::memory_order_relaxed)) {
    counts[{Number(CollectiveOperation::kFence),
            {{own_nspace, kRankWildcard}}}] += whole;
  }
  WireWriter out;
  out.Uint(counts.size());
  for (const auto& [key, ended] : counts) {
    out.Uint(key.first);
    out.Uint(key.second.size());
    for (const ProcId& proc : key.second) out.Proc(proc);
    out.Uint(ended);
  }
  // Agents that do not know groups cannot read the rest.
  const MutexLock lock(mu_);
  if (groups_.empty()) return out.Take();
  out.Uint(groups_.size());
  for (const auto& [series, ended] : groups_) {
    out.Raw(series);
    out.Uint(ended);
  }
  return out.Take();
}

}  // namespace canopy::client
