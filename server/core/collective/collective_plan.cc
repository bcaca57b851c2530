#include "server/core/collective/collective_plan.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

namespace canopy::core {
namespace {

// Sorts the elements and removes duplicates. Most callers name processes in
// order, so sorting is often skipped.
template <typename T>
void SortUnique(std::vector<T>* v) {
  if (!std::is_sorted(v->begin(), v->end())) std::sort(v->begin(), v->end());
  v->erase(std::unique(v->begin(), v->end()), v->end());
}

void AddWholeJob(const Job& job, CollectiveMembers* members) {
  for (const JobNode& node : job.spec->nodes) {
    members->nodes.push_back(node.agent);
  }
  for (const Rank rank : job.local_ranks()) {
    members->local.push_back({job.nspace(), rank});
  }
}

}  // namespace

bool NamesNobody(const std::vector<ProcId>& participants,
                 const std::string& own_nspace, const JobTable& jobs) {
  const Job* job = nullptr;
  const std::string* last = nullptr;
  for (const ProcId& proc : participants) {
    const std::string& nspace = proc.nspace.empty() ? own_nspace : proc.nspace;
    if (last == nullptr || nspace != *last) job = jobs.Find(nspace);
    last = &nspace;
    if (job != nullptr && proc.rank <= kRankValid &&
        proc.rank >= job->num_ranks()) {
      return true;
    }
  }
  return false;
}

int CheckCounts(const std::vector<ProcId>& participants,
                const std::string& own_nspace, const JobTable& jobs) {
  constexpr size_t kShort = 1024;
  if (participants.size() <= kShort) return kSuccess;
  std::map<std::string_view, size_t> counts;
  std::string_view last;
  size_t* count = nullptr;
  for (const ProcId& proc : participants) {
    const std::string& nspace = proc.nspace.empty() ? own_nspace : proc.nspace;
    if (count == nullptr || nspace != last) {
      count = &counts[last = nspace];
      if (counts.size() > kMaxJobsInList) return kErrOutOfResource;
    }
    ++*count;
  }
  size_t unknown = 0;
  for (const auto& [nspace, named] : counts) {
    const Job* job = jobs.Find(nspace);
    if (job == nullptr) {
      unknown += named;
    } else if (named > kShort + 2 * size_t{job->num_ranks()}) {
      return kErrBadParam;
    }
  }
  return unknown > kMaxUnknownNames ? kErrOutOfResource : kSuccess;
}

Status Canonicalise(const std::string& own_nspace,
                    std::vector<ProcId>* participants) {
  if (participants->empty()) participants->push_back({"", kRankWildcard});
  for (ProcId& proc : *participants) {
    if (proc.nspace.empty()) proc.nspace = own_nspace;
    if (proc.rank > kRankValid && proc.rank != kRankWildcard) {
      return Status(kErrBadParam, "not a participant: " + ToString(proc));
    }
  }
  SortUnique(participants);
  return Status();
}

void NameWholeJobs(const JobTable& jobs, std::vector<ProcId>* participants) {
  std::vector<ProcId> out;
  for (auto it = participants->begin(); it != participants->end();) {
    const auto end = std::find_if(
        it, participants->end(),
        [&](const ProcId& proc) { return proc.nspace != it->nspace; });
    // A wildcard sorts after all ranks.
    const Job* job = jobs.Find(it->nspace);
    const bool whole =
        std::prev(end)->rank == kRankWildcard ||
        (job != nullptr && static_cast<size_t>(end - it) == job->num_ranks());
    if (whole) {
      out.push_back({it->nspace, kRankWildcard});
    } else {
      out.insert(out.end(), it, end);
    }
    it = end;
  }
  *participants = std::move(out);
}

int CollectiveMembers::LocalIndex(const ProcId& proc) const {
  const auto it = std::lower_bound(local.begin(), local.end(), proc);
  if (it == local.end() || *it != proc) return -1;
  return static_cast<int>(it - local.begin());
}

bool CollectiveMembers::HasNode(NodeId node) const {
  return std::binary_search(nodes.begin(), nodes.end(), node);
}

std::vector<std::string> UnknownNspaces(const std::vector<ProcId>& participants,
                                        const JobTable& jobs, size_t limit) {
  std::vector<std::string> unknown;
  for (const ProcId& proc : participants) {
    if (unknown.size() == limit) break;
    if (!unknown.empty() && unknown.back() == proc.nspace) continue;
    if (jobs.Find(proc.nspace) == nullptr) unknown.push_back(proc.nspace);
  }
  return unknown;
}

std::vector<std::string> NspacesOf(const std::vector<ProcId>& participants) {
  std::vector<std::string> nspaces;
  for (const ProcId& proc : participants) {
    if (!nspaces.empty() && nspaces.back() == proc.nspace) continue;
    nspaces.push_back(proc.nspace);
  }
  return nspaces;
}

Result<CollectiveMembers> FindMembers(const std::vector<ProcId>& participants,
                                      const JobTable& jobs, NodeId self) {
  CollectiveMembers members;
  const Job* job = nullptr;
  for (const ProcId& proc : participants) {
    if (job == nullptr || job->nspace() != proc.nspace) {
      job = jobs.Find(proc.nspace);
    }
    if (proc.rank == kRankWildcard) {
      AddWholeJob(*job, &members);
      continue;
    }
    if (proc.rank >= job->num_ranks()) {
      return Status(kErrBadParam, "no such process: " + ToString(proc));
    }
    const NodeId node = job->agent_of(proc.rank);
    if (members.nodes.empty() || members.nodes.back() != node) {
      members.nodes.push_back(node);
    }
    if (node == self) members.local.push_back(proc);
  }
  SortUnique(&members.nodes);
  SortUnique(&members.local);
  return members;
}

std::vector<ProcId> MembersWhere(
    const std::vector<ProcId>& participants, const JobTable& jobs,
    const std::function<bool(NodeId node, const RankState& state)>& wanted) {
  std::vector<ProcId> out;
  for (const ProcId& proc : participants) {
    const Job* job = jobs.Find(proc.nspace);
    if (job == nullptr) continue;
    const bool all = proc.rank == kRankWildcard;
    const Rank begin = all ? 0 : proc.rank;
    const Rank end =
        all ? job->num_ranks() : std::min(proc.rank + 1, job->num_ranks());
    for (Rank rank = begin; rank < end; ++rank) {
      if (wanted(job->agent_of(rank), job->ranks[rank])) {
        out.push_back({proc.nspace, rank});
      }
    }
  }
  SortUnique(&out);
  return out;
}

bool HasLivingOn(const std::vector<ProcId>& participants, const JobTable& jobs,
                 NodeId node) {
  for (auto it = participants.begin(); it != participants.end();) {
    const auto end = std::upper_bound(it, participants.end(),
                                      ProcId{it->nspace, kRankWildcard});
    const bool whole = std::prev(end)->rank == kRankWildcard;
    const Job* job = jobs.Find(it->nspace);
    const bool lives =
        job != nullptr &&
        std::ranges::any_of(
            job->layout->ranks_of_agent(node), [&](const Rank rank) {
              return !job->ranks[rank].gone() &&
                     (whole ||
                      std::binary_search(it, end, ProcId{it->nspace, rank}));
            });
    if (lives) return true;
    it = end;
  }
  return false;
}

size_t CountMembers(const std::vector<ProcId>& participants,
                    const JobTable& jobs) {
  size_t count = 0;
  for (const ProcId& proc : participants) {
    const Job* job = jobs.Find(proc.nspace);
    if (job == nullptr) continue;
    count += proc.rank == kRankWildcard ? job->num_ranks() : 1;
  }
  return count;
}

bool NobodyIsGone(const std::vector<ProcId>& participants,
                  const JobTable& jobs) {
  return std::all_of(participants.begin(), participants.end(),
                     [&](const ProcId& proc) {
                       const Job* job = jobs.Find(proc.nspace);
                       return job == nullptr || job->num_gone == 0;
                     });
}

CollectiveTree FindPlace(const CollectiveMembers& members, const Tree& tree,
                         NodeId self) {
  std::vector<NodeId> living;
  for (const NodeId node : members.nodes) {
    if (tree.alive(node)) living.push_back(node);
  }
  CollectiveTree place;
  const NodeId top = tree.TopOf(living);
  for (const NodeId node : living) {
    if (node == self) {
      place.below.push_back(node);
      continue;
    }
    const NodeId child = tree.ChildTowards(self, node);
    if (child == kNoNode) continue;
    place.below.push_back(node);
    place.children.push_back(child);
  }
  SortUnique(&place.children);
  place.top = self == top;
  place.member =
      !place.below.empty() && top != kNoNode && tree.InSubtree(top, self);
  if (place.member && !place.top) place.parent = tree.parent(self);
  return place;
}

}  // namespace canopy::core
