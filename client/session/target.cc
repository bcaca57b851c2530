#include "client/session/target.h"

#include <algorithm>
#include <cstring>

namespace canopy::client {

std::string_view NspaceOf(const pmix_proc_t& proc) {
  return {proc.nspace, strnlen(proc.nspace, kMaxNspaceLen)};
}

int ResolveTarget(const Session& session, const pmix_proc_t* proc,
                  Target* target) {
  if (proc == nullptr) {
    *target = {session.self().nspace, session.self().rank};
    return PMIX_SUCCESS;
  }
  target->nspace = NspaceOf(*proc);
  if (target->nspace.empty()) target->nspace = session.self().nspace;
  target->rank = proc->rank;
  const bool known = IsProcessRank(proc->rank) || proc->rank == kRankWildcard ||
                     proc->rank == kRankUndef;
  return known ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
}

std::vector<ProcView> ViewsOf(std::span<const pmix_proc_t> procs) {
  std::vector<ProcView> views;
  views.reserve(procs.size());
  for (const pmix_proc_t& proc : procs) {
    views.push_back({NspaceOf(proc), proc.rank});
  }
  return views;
}

bool ReadKey(const char* key, std::string_view* text) {
  if (key == nullptr) {
    *text = {};
    return true;
  }
  *text = {key, strnlen(key, kMaxKeyLen + 1)};
  return text->size() <= kMaxKeyLen;
}

bool NamesGroup(const Session& session, std::span<const pmix_proc_t> procs) {
  return std::ranges::any_of(procs, [&](const pmix_proc_t& proc) {
    return session.groups().Has(NspaceOf(proc));
  });
}

bool NamesCaller(const Session& session, std::span<const pmix_proc_t> procs) {
  const ProcId& self = session.self();
  const bool named = std::ranges::any_of(procs, [&](const pmix_proc_t& proc) {
    return NspaceOf(proc) == self.nspace &&
           (proc.rank == kRankWildcard || proc.rank == self.rank);
  });
  return named || NamesGroup(session, procs);
}

int CheckParticipants(Session& session, const pmix_proc_t* procs,
                      size_t nprocs) {
  if (procs == nullptr) return nprocs == 0 ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
  if (nprocs == 0) return PMIX_SUCCESS;
  for (size_t i = 0; i < nprocs; ++i) {
    const std::string_view nspace = NspaceOf(procs[i]);
    const Rank rank = procs[i].rank;
    if (nspace.empty()) return PMIX_ERR_BAD_PARAM;
    if (!IsProcessRank(rank) && rank != kRankWildcard) {
      return PMIX_ERR_BAD_PARAM;
    }
    const JobView* job = session.namespaces().Find(nspace);
    if (job != nullptr && IsProcessRank(rank) && rank >= job->num_ranks()) {
      return PMIX_ERR_BAD_PARAM;
    }
  }
  return NamesCaller(session, {procs, nprocs}) ? PMIX_SUCCESS
                                               : PMIX_ERR_BAD_PARAM;
}

}  // namespace canopy::client
