// Decides the answer to a get from the data of this agent.
#include <optional>
#include <string>

#include "common/process_keys.h"
#include "common/status.h"
#include "server/core/modex/gets.h"
#include "server/core/modex/process_facts.h"

namespace canopy::core {
namespace {

bool IsReserved(const std::string& key) { return key.starts_with("pmix"); }

}  // namespace

bool Gets::IsForeign(const Held& held) const {
  const ProcId* proc = jobs_.ProcOf(held.client);
  return proc != nullptr && proc->nspace != held.target.nspace;
}

bool Gets::MaySee(const Held& held) const {
  const ProcId* proc = jobs_.ProcOf(held.client);
  return proc == nullptr || proc->nspace == held.target.nspace ||
         jobs_.MaySee(*proc, held.target.nspace);
}

// Returns whether the processes for which another agent requests the data may
// see the target's job. Their agent has checked this, too, but it may not be
// honest, and a claim that contradicts the map of their job is refused. Without
// a claim, the reader is a tool that may see all jobs, or its agent is older.
bool Gets::MayPeerSee(const Held& held, const Job& target) const {
  std::optional<uint32_t> user = held.uid;
  if (const Job* reader = jobs_.Find(held.reader)) {
    if (reader->spec->uid != user.value_or(reader->spec->uid)) return false;
    user = reader->spec->uid;
  }
  return !user || *user == target.spec->uid ||
         jobs_.HaveMet(held.reader, held.target.nspace);
}

std::optional<int> Gets::Decide(const Held& held) const {
  if (held.node != kNoNode) return DecideForPeer(held);
  if (!MaySee(held)) return kErrNoPermissions;
  const Job* job = jobs_.Find(held.target.nspace);
  if (job != nullptr) return DecideForClient(held, *job);
  if (jobs_.IsFormerParent(held.target.nspace, held.target.rank)) {
    return IsReserved(held.key) && !IsProcessFact(held.key) ? kSuccess
                                                            : kErrNotFound;
  }
  if (jobs_.WasRemoved(held.target.nspace)) return kErrNotFound;
  // Job data of another namespace is available as soon as its map is, so even
  // an immediate get of job data (rank wildcard) waits for the map.
  if (held.immediate && held.target.rank != kRankWildcard) return kErrNotFound;
  return std::nullopt;
}

std::optional<int> Gets::DecideForPeer(const Held& held) const {
  const Job* job = jobs_.Find(held.target.nspace);
  if (job == nullptr || !job->is_local(held.target.rank)) return kErrNotFound;
  if (!MayPeerSee(held, *job)) return kErrNoPermissions;
  if (IsProcessFact(held.key)) {
    return DecideFact(*job, held.target.rank, held.key);
  }
  switch (modex_.FindForOthers(held.target, held.key)) {
    case ModexStore::Found::kYes:
      return kSuccess;
    case ModexStore::Found::kOutside:
      return kErrExistsOutsideScope;
    default:
      break;
  }
  if (held.immediate || job->ranks[held.target.rank].gone()) {
    return kErrNotFound;
  }
  return std::nullopt;
}

std::optional<int> Gets::DecideForClient(const Held& held,
                                         const Job& job) const {
  if (held.target.rank == kRankUndef) return DecideUndef(held);
  if (held.target.rank == kRankWildcard) return DecideWildcard(held);
  if (held.target.rank >= job.num_ranks()) return kErrNotFound;
  if (IsProcessFact(held.key)) return DecideProcess(held, job);
  if (job.is_local(held.target.rank)) return DecideLocal(held, job);
  return DecideRemote(held, job);
}

std::optional<int> Gets::DecideUndef(const Held& held) const {
  if (modex_.OwnerOf(held.target.nspace, held.key)) return kSuccess;
  if (held.immediate || held.refresh) return kErrNotFound;
  return std::nullopt;
}

// Decides a get with rank wildcard. Job data is in shared memory from the
// start, except that of another namespace.
std::optional<int> Gets::DecideWildcard(const Held& held) const {
  if (held.refresh) return kSuccess;
  const bool job_data = held.key.empty() || IsReserved(held.key);
  return job_data && IsForeign(held) ? kSuccess : kErrNotFound;
}

// Decides from the data that this node sees. Reserved keys need no data of
// another node.
std::optional<int> Gets::DecideHere(const Held& held) const {
  switch (modex_.FindHere(held.target, held.key)) {
    case ModexStore::Found::kYes:
      return kSuccess;
    case ModexStore::Found::kOutside:
      return kErrExistsOutsideScope;
    default:
      break;
  }
  if (IsReserved(held.key)) return IsForeign(held) ? kSuccess : kErrNotFound;
  return std::nullopt;
}

// Decides a get of a process fact. A fact of a remote process is never stored
// here: the answer of the process's agent is forwarded unchanged.
std::optional<int> Gets::DecideProcess(const Held& held, const Job& job) const {
  if (job.is_local(held.target.rank)) {
    const auto status = DecideFact(job, held.target.rank, held.key);
    return status || !held.immediate ? status : kErrNotFound;
  }
  if (held.immediate || held.fetched) return kErrNotFound;
  const bool lost = !tree_.alive(job.agent_of(held.target.rank));
  return lost ? std::optional<int>(kErrUnreach) : std::nullopt;
}

std::optional<int> Gets::DecideLocal(const Held& held, const Job& job) const {
  if (const auto here = DecideHere(held)) return here;
  if (held.immediate || held.refresh || held.key.empty() ||
      job.ranks[held.target.rank].gone()) {
    return kErrNotFound;
  }
  return std::nullopt;
}

std::optional<int> Gets::DecideRemote(const Held& held, const Job& job) const {
  const bool lost = !tree_.alive(job.agent_of(held.target.rank));
  if (held.refresh && !held.fetched) {
    return lost ? std::optional<int>(kErrUnreach) : std::nullopt;
  }
  if (const auto here = DecideHere(held)) return here;
  if (held.immediate || held.fetched) return kErrNotFound;
  return lost ? std::optional<int>(kErrUnreach) : std::nullopt;
}

}  // namespace canopy::core
