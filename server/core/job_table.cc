#include "server/core/job_table.h"

#include <algorithm>
#include <utility>

namespace canopy::core {
namespace {

constexpr size_t kRemovedKept = 256;

}  // namespace

std::span<const Rank> Job::local_ranks() const {
  if (local_node == kNoNode) return {};
  return layout->ranks_on(local_node);
}

const Job* JobTable::Add(std::shared_ptr<const JobSpec> spec) {
  const auto [it, added] = jobs_.try_emplace(spec->nspace);
  if (!added) return nullptr;
  Job& job = it->second;
  job.layout = std::make_shared<const JobLayout>(*spec);
  job.local_node = job.layout->node_of_agent(self_);
  job.ranks.resize(spec->procs.size());
  job.spec = std::move(spec);
  const auto former = former_.extract(it->first);
  if (!former.empty()) job.registered = former.mapped().registered;
  Post(AddedJob{it->first});
  return &job;
}

void JobTable::Remove(std::string_view nspace) {
  const auto it = jobs_.find(nspace);
  if (it == jobs_.end()) return;
  std::erase_if(clients_,
                [&](const auto& c) { return c.second.proc.nspace == nspace; });
  std::erase_if(by_proc_,
                [&](const auto& p) { return p.first.nspace == nspace; });
  Post(RemovedJob{it->first, it->second.registered,
                  std::move(it->second.readers)});
  removed_.push_back(it->first);
  if (removed_.size() > kRemovedKept) removed_.pop_front();
  holds_.OnJobRemoved(it->first);
  met_.OnJobRemoved(it->first);
  if (HasChildrenHere(nspace)) {
    former_[it->first] = {it->second.spec, it->second.layout, false};
  }
  jobs_.erase(it);
  ReleaseFormerParents();
}

bool JobTable::HasChildrenHere(std::string_view nspace) const {
  return std::any_of(jobs_.begin(), jobs_.end(), [&](const auto& entry) {
    const Job& job = entry.second;
    return job.local_node != kNoNode && job.spec->parent.nspace == nspace;
  });
}

void JobTable::ReleaseFormerParents() {
  std::erase_if(former_, [this](const auto& entry) {
    if (HasChildrenHere(entry.first)) return false;
    if (entry.second.registered) Post(ReleasedJob{entry.first});
    return true;
  });
}

bool JobTable::IsFormerParent(std::string_view nspace, Rank rank) const {
  const auto it = former_.find(nspace);
  return it != former_.end() &&
         (rank == kRankWildcard || rank < it->second.spec->procs.size());
}

bool JobTable::WasRemoved(std::string_view nspace) const {
  return Find(nspace) == nullptr &&
         std::find(removed_.begin(), removed_.end(), nspace) != removed_.end();
}

const Job* JobTable::Find(std::string_view nspace) const {
  const auto it = jobs_.find(nspace);
  return it == jobs_.end() ? nullptr : &it->second;
}

RankState* JobTable::FindRank(const ProcId& proc) {
  const auto it = jobs_.find(proc.nspace);
  if (it == jobs_.end() || proc.rank >= it->second.ranks.size()) return nullptr;
  return &it->second.ranks[proc.rank];
}

LocalProcess* JobTable::ProcessOf(const ProcId& proc) {
  const auto it = jobs_.find(proc.nspace);
  if (it == jobs_.end() || !it->second.is_local(proc.rank)) return nullptr;
  return &it->second.processes[proc.rank];
}

void JobTable::NoteStarted(const ProcId& proc, int pid) {
  if (LocalProcess* process = ProcessOf(proc)) *process = {pid, std::nullopt};
}

void JobTable::NoteExit(const ProcId& proc, int exit_code) {
  if (LocalProcess* process = ProcessOf(proc)) process->exit_code = exit_code;
}

void JobTable::MarkEnded(std::string_view nspace, Rank rank) {
  const ProcId proc{std::string(nspace), rank};
  RankState* state = FindRank(proc);
  if (state == nullptr || state->ended) return;
  state->ended = true;
  NoteGone(proc);
}

void JobTable::MarkRestarted(std::string_view nspace, Rank rank,
                             uint32_t incarnation) {
  ProcId proc{std::string(nspace), rank};
  RankState* state = FindRank(proc);
  if (state == nullptr || state->ended || incarnation <= state->incarnation) {
    return;
  }
  *state = RankState();
  state->incarnation = incarnation;
  const auto former = by_proc_.extract(proc);
  if (!former.empty()) {
    for (const ClientId client : former.mapped()) clients_.erase(client);
  }
  Post(RestartedRank{std::move(proc)});
}

void JobTable::RecoverIncarnation(std::string_view nspace, Rank rank,
                                  uint32_t incarnation) {
  RankState* state = FindRank({std::string(nspace), rank});
  if (state != nullptr) state->incarnation = incarnation;
}

// Ranks of one node often end together, and then share one event.
void JobTable::NoteGone(const ProcId& proc) {
  ++jobs_.find(proc.nspace)->second.num_gone;
  if (events_ == nullptr) return;
  auto* last = events_->Last<GoneRanks>();
  if (last != nullptr && last->nspace == proc.nspace) {
    last->ranks.push_back(proc.rank);
  } else {
    events_->Post(GoneRanks{proc.nspace, {proc.rank}});
  }
}

void JobTable::MarkFinalized(std::string_view nspace, Rank rank) {
  RankState* state = FindRank({std::string(nspace), rank});
  if (state != nullptr) state->finalized = true;
}

void JobTable::Register(std::string_view nspace, Actions* actions) {
  const auto former = former_.find(nspace);
  if (former != former_.end() && !former->second.registered) {
    former->second.registered = true;
    actions->push_back(RegisterJob{former->second.spec, former->second.layout});
  }
  const auto it = jobs_.find(nspace);
  if (it == jobs_.end() || it->second.registered) return;
  it->second.registered = true;
  actions->push_back(RegisterJob{it->second.spec, it->second.layout});
}

void JobTable::Unregister(std::string_view nspace) {
  const auto it = jobs_.find(nspace);
  if (it == jobs_.end() || !it->second.registered) return;
  it->second.registered = false;
  Post(ReleasedJob{it->first});
}

void JobTable::MarkRegistered(std::string_view nspace) {
  const auto it = jobs_.find(nspace);
  if (it != jobs_.end()) it->second.registered = true;
}

void JobTable::MarkEnding(std::string_view nspace) {
  const auto it = jobs_.find(nspace);
  if (it != jobs_.end()) it->second.ending = true;
}

void JobTable::AddReader(std::string_view nspace, NodeId agent) {
  const auto it = jobs_.find(nspace);
  if (it != jobs_.end()) it->second.readers.insert(agent);
}

void JobTable::SetLentBy(std::string_view nspace, NodeId controller) {
  const auto it = jobs_.find(nspace);
  if (it != jobs_.end()) it->second.lent_by_controller = controller;
}

bool JobTable::Connect(ClientId client, const ProcId& proc) {
  const Job* job = Find(proc.nspace);
  if (job == nullptr || !job->is_local(proc.rank)) return false;
  if (!clients_.try_emplace(client, Client{proc, false, {}}).second)
    return false;
  by_proc_[proc].push_back(client);
  RankState& state = *FindRank(proc);
  state.called_init = true;
  state.finalized = false;
  state.lost = false;
  return true;
}

bool JobTable::ConnectTool(ClientId client, const ProcId& proc, Owner owner,
                           bool of_other_user) {
  if (Find(proc.nspace) != nullptr) return false;
  const Client tool{proc, false, owner, of_other_user};
  if (!clients_.try_emplace(client, tool).second) return false;
  by_proc_[proc].push_back(client);
  return true;
}

std::optional<Owner> JobTable::OwnerOf(const ProcId& proc) const {
  if (const Job* job = Find(proc.nspace)) {
    return Owner{job->spec->uid, job->spec->gid};
  }
  const Client* tool = FindTool(proc);
  return tool == nullptr ? std::nullopt : std::optional<Owner>(tool->owner);
}

const JobTable::Client* JobTable::FindTool(const ProcId& proc) const {
  const auto tool = by_proc_.find(proc);
  if (tool == by_proc_.end() || tool->second.empty()) return nullptr;
  return &clients_.at(tool->second.front());
}

const JobSpec* JobTable::SpecOf(std::string_view nspace) const {
  if (const Job* job = Find(nspace)) return job->spec.get();
  const auto former = former_.find(nspace);
  return former == former_.end() ? nullptr : former->second.spec.get();
}

std::optional<uint32_t> JobTable::UserSeenBy(const ProcId& proc) const {
  if (const JobSpec* spec = SpecOf(proc.nspace)) return spec->uid;
  const std::optional<Owner> owner = OtherOwnerOf(proc);
  return owner ? std::optional<uint32_t>(owner->uid) : std::nullopt;
}

std::optional<Owner> JobTable::OtherOwnerOf(const ProcId& proc) const {
  const Client* tool =
      SpecOf(proc.nspace) == nullptr ? FindTool(proc) : nullptr;
  if (tool == nullptr || !tool->of_other_user) return std::nullopt;
  return tool->owner;
}

// Participants of one namespace are adjacent, so each namespace is looked up
// once.
bool JobTable::AreOfOneUser(const std::vector<ProcId>& procs) const {
  std::string_view known;
  std::optional<uint32_t> user;
  for (const ProcId& proc : procs) {
    if (user && proc.nspace == known) continue;
    known = proc.nspace;
    const JobSpec* spec = SpecOf(known);
    if (spec == nullptr || spec->uid != user.value_or(spec->uid)) return false;
    user = spec->uid;
  }
  return true;
}

// Jobs of the same user may always see each other, so only operations of
// several users are recorded.
void JobTable::NoteMet(const std::vector<ProcId>& participants) {
  if (!AreOfOneUser(participants)) met_.Note(participants);
}

bool JobTable::MaySee(const ProcId& proc, std::string_view nspace) const {
  const std::optional<uint32_t> user = UserSeenBy(proc);
  const JobSpec* spec = SpecOf(nspace);
  return !user || spec == nullptr || spec->uid == *user ||
         met_.Contains(proc.nspace, nspace);
}

void JobTable::Finalize(ClientId client) {
  const auto it = clients_.find(client);
  if (it == clients_.end() || it->second.finalized) return;
  it->second.finalized = true;
  const auto& all = by_proc_[it->second.proc];
  const bool last = std::all_of(all.begin(), all.end(), [&](ClientId c) {
    return clients_.at(c).finalized;
  });
  RankState* state = FindRank(it->second.proc);
  if (last && state != nullptr) state->finalized = true;
}

void JobTable::Disconnect(ClientId client) {
  const auto it = clients_.find(client);
  if (it == clients_.end()) return;
  const Client gone = std::move(it->second);
  clients_.erase(it);
  const auto at = by_proc_.find(gone.proc);
  std::erase(at->second, client);
  if (!at->second.empty()) return;
  by_proc_.erase(at);
  RankState* state = FindRank(gone.proc);
  if (state == nullptr || gone.finalized || state->ended) return;
  // The rank may get another process, so operations wait until its end is
  // known.
  if (Find(gone.proc.nspace)->may_restart(gone.proc.rank)) return;
  state->lost = true;
  NoteGone(gone.proc);
}

const ProcId* JobTable::ProcOf(ClientId client) const {
  const auto it = clients_.find(client);
  return it == clients_.end() ? nullptr : &it->second.proc;
}

std::vector<ClientId> JobTable::ClientsOf(const ProcId& proc) const {
  const auto it = by_proc_.find(proc);
  return it == by_proc_.end() ? std::vector<ClientId>() : it->second;
}

std::vector<ClientId> JobTable::Clients() const {
  std::vector<ClientId> out;
  out.reserve(clients_.size());
  for (const auto& [id, client] : clients_) out.push_back(id);
  return out;
}

}  // namespace canopy::core
