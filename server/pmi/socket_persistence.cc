#include "server/pmi/socket_persistence.h"

#include <sys/mman.h>
#include <sys/socket.h>

#include <charconv>
#include <utility>

#include "common/posix/unique_fd.h"

namespace canopy::pmi {
namespace {

constexpr std::string_view kRankPrefix = "pmi1.rank.";
constexpr std::string_view kSpawnPrefix = "pmi1.spawn.";
constexpr std::string_view kLogPrefix = "pmi1.outcomes.";

std::string NameOf(std::string_view prefix, Rank rank) {
  return std::string(prefix) + std::to_string(rank);
}

std::optional<Rank> RankAfter(std::string_view prefix, std::string_view name) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  Rank rank = 0;
  const auto end = std::from_chars(name.begin(), name.end(), rank);
  if (end.ec != std::errc() || end.ptr != name.end()) return std::nullopt;
  return rank;
}

}  // namespace

std::optional<Rank> RankIn(std::string_view name) {
  return RankAfter(kRankPrefix, name);
}

std::optional<Rank> SpawnerIn(std::string_view name) {
  return RankAfter(kSpawnPrefix, name);
}

std::optional<Rank> LoggedIn(std::string_view name) {
  return RankAfter(kLogPrefix, name);
}

SocketPersistence::SocketPersistence(EventLoop* loop, const PmiOptions* options,
                                     Jobs* jobs, const Connections* connections)
    : loop_(loop),
      options_(options),
      jobs_(jobs),
      connections_(connections),
      self_(std::make_shared<SocketPersistence*>(this)) {}

SocketPersistence::~SocketPersistence() { *self_ = nullptr; }

void SocketPersistence::PersistSoon(const ProcId& proc) {
  const std::string& nspace = proc.nspace;
  Jobs::Job* job = jobs_->Find(nspace);
  if (options_->fd_store == nullptr || job == nullptr) return;
  job->to_persist.push_back(proc.rank);
  if (job->to_persist.size() > 1) return;
  loop_->Defer([self = self_, nspace] {
    if (*self != nullptr) (*self)->PersistSockets(nspace);
  });
}

bool SocketPersistence::MakeStates(const std::string& nspace, Jobs::Job* job) {
  if (job->states != nullptr) return true;
  auto states =
      RankStates::Create(job->layout->ranks_of_agent(jobs_->self()).size());
  if (!states.ok()) return false;
  job->states = std::move(states).value();
  options_->fd_store->HoldFile(nspace,
                               {kStatesName, DuplicateFd(job->states->fd())});
  HoldChanges(nspace, *job->states);
  return true;
}

void SocketPersistence::HoldChanges(const std::string& nspace,
                                    const RankStates& states) {
  options_->fd_store->HoldFile(
      nspace, {kChangesName, DuplicateFd(states.changes_fd())});
}

void SocketPersistence::CompleteStates(const std::string& nspace,
                                       RankStates* states) {
  if (states->changes_fd() >= 0 || options_->fd_store == nullptr) return;
  if (states->CreateChanges().ok()) HoldChanges(nspace, *states);
}

void SocketPersistence::HoldSpawn(Connection& c) {
  if (!c.persisted) return;
  UniqueFd file(memfd_create("canopy-pmi-spawn", MFD_CLOEXEC));
  if (!file) return;
  const bool held = options_->fd_store->HoldConnection(
      c.proc.nspace,
      {NameOf(kSpawnPrefix, c.proc.rank), DuplicateFd(file.get())});
  if (held) c.spawn_file = std::move(file);
}

// Releases the file at once, because the next spawn uses the same name.
void SocketPersistence::ReleaseSpawn(Connection& c) {
  if (!c.spawn_file) return;
  c.spawn_file.Reset();
  options_->fd_store->ReleaseConnection(c.proc.nspace,
                                        NameOf(kSpawnPrefix, c.proc.rank),
                                        FdStorePort::Release::kAtOnce);
}

void SocketPersistence::HoldOutcomes(Connection& c) {
  if (!c.persisted || c.outcomes != nullptr) return;
  auto log = OutcomeLog::Create();
  if (!log.ok()) return;
  const bool held = options_->fd_store->HoldConnection(
      c.proc.nspace,
      {NameOf(kLogPrefix, c.proc.rank), DuplicateFd((*log)->fd())});
  if (held) c.outcomes = std::move(log).value();
}

void SocketPersistence::PersistSockets(const std::string& nspace) {
  Jobs::Job* job = jobs_->Find(nspace);
  if (job == nullptr) return;
  std::vector<NamedFd> sockets;
  std::vector<Connection*> persisted;
  for (const Rank rank : std::exchange(job->to_persist, {})) {
    const auto process = job->ranks.find(rank);
    Connection* c = process == job->ranks.end()
                        ? nullptr
                        : connections_->Find(process->second.client);
    if (c == nullptr || c->ending || c->persisted) continue;
    sockets.push_back({NameOf(kRankPrefix, rank), DuplicateFd(c->fd.get())});
    persisted.push_back(c);
  }
  if (persisted.empty()) return;
  if (!MakeStates(nspace, job)) return;
  for (Connection* c : persisted) {
    c->states = job->states;
    c->index = job->layout->numbers(c->proc.rank).local_rank;
    c->PersistState();
    c->PersistChanges();
  }
  const bool held =
      options_->fd_store->HoldConnections(nspace, std::move(sockets));
  for (Connection* c : persisted) c->persisted = held;
  if (held) return;
  if (!options_->log) return;
  options_->log({core::LogLine::Level::kWarning,
                 "PMI connections of " + nspace +
                     " would not survive a restart of this agent: its job's "
                     "shim has no room for them"});
}

void SocketPersistence::Release(const Connection& c, std::string_view prefix) {
  options_->fd_store->ReleaseConnection(c.proc.nspace,
                                        NameOf(prefix, c.proc.rank),
                                        FdStorePort::Release::kBatched);
}

void SocketPersistence::End(Connection& c) {
  ReleaseSpawn(c);
  if (!c.persisted) return;
  // The shim holds the socket for some time after this call.
  shutdown(c.fd.get(), SHUT_RDWR);
  Release(c, kRankPrefix);
  if (c.outcomes != nullptr) Release(c, kLogPrefix);
}

}  // namespace canopy::pmi
