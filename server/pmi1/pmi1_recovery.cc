// Persistence and recovery of PMI-1 connections.
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "common/posix/unique_fd.h"
#include "server/pmi1/pmi1_endpoint.h"

namespace canopy::pmi1 {
namespace {

constexpr std::string_view kPrefix = "pmi1.";
constexpr char kStatesName[] = "pmi1.states";
constexpr std::string_view kRankPrefix = "pmi1.rank.";

std::optional<Rank> RankIn(std::string_view name) {
  if (!name.starts_with(kRankPrefix)) return std::nullopt;
  name.remove_prefix(kRankPrefix.size());
  Rank rank = 0;
  const auto end = std::from_chars(name.begin(), name.end(), rank);
  if (end.ec != std::errc() || end.ptr != name.end()) return std::nullopt;
  return rank;
}

// The first command in the socket.
struct Waiting {
  size_t size = 0;  // 0: there is none
  // Something was sent after it, which waits for its answer.
  bool passed = false;
};

Waiting LookAt(int fd) {
  char buffer[kMaxLine + 1];
  const ssize_t n = recv(fd, buffer, sizeof buffer, MSG_PEEK | MSG_DONTWAIT);
  if (n <= 0) return {};
  const std::string_view data(buffer, static_cast<size_t>(n));
  const size_t end = data.find('\n');
  if (end == data.npos) return {};
  // Those lines of a spawn that follow belong to it.
  const bool alone = !data.starts_with("mcmd=");
  return {end + 1, alone && end + 1 < data.size()};
}

// Whether the client has been sent something that it has not read.
bool HasUnread(int fd) {
  int bytes = 0;
  return ioctl(fd, SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

}  // namespace

bool Pmi1Endpoint::IsPersistedName(std::string_view name) {
  return name.starts_with(kPrefix);
}

std::string Pmi1Endpoint::NameOf(Rank rank) {
  return std::string(kRankPrefix) + std::to_string(rank);
}

// Before the process starts. All ranks of a job start together, so their
// sockets are persisted together.
void Pmi1Endpoint::PersistSoon(const std::string& nspace, Rank rank) {
  Job* job = FindJob(nspace);
  if (!options_.persist_sockets || job == nullptr) return;
  job->to_persist.push_back(rank);
  if (job->to_persist.size() > 1) return;
  loop_->Defer([self = self_, nspace] {
    if (*self != nullptr) (*self)->PersistSockets(nspace);
  });
}

bool Pmi1Endpoint::MakeStates(const std::string& nspace, Job* job) {
  if (job->states != nullptr) return true;
  auto states =
      RankStates::Create(job->layout->ranks_of_agent(options_.self).size());
  if (!states.ok()) return false;
  job->states = std::move(states).value();
  options_.persist(nspace, {kStatesName, DuplicateFd(job->states->fd())});
  return true;
}

void Pmi1Endpoint::PersistSockets(const std::string& nspace) {
  Job* job = FindJob(nspace);
  if (job == nullptr) return;
  std::vector<NamedFd> sockets;
  std::vector<Connection*> persisted;
  for (const Rank rank : std::exchange(job->to_persist, {})) {
    const auto client = job->clients.find(rank);
    Connection* c =
        client == job->clients.end() ? nullptr : Find(client->second);
    if (c == nullptr || c->ending || c->persisted) continue;
    sockets.push_back({NameOf(rank), DuplicateFd(c->fd.get())});
    persisted.push_back(c);
  }
  if (persisted.empty()) return;
  if (!MakeStates(nspace, job)) return;
  for (Connection* c : persisted) {
    c->states = job->states;
    c->index = job->layout->numbers(c->proc.rank).local_rank;
    PersistState(*c);
  }
  const bool held = options_.persist_sockets(nspace, std::move(sockets));
  for (Connection* c : persisted) c->persisted = held;
  if (held) return;
  Log(core::LogLine::Level::kWarning,
      "PMI-1 connections of " + nspace +
          " would not survive a restart of this agent: its job's shim has no "
          "room for them");
}

void Pmi1Endpoint::Recover(const std::string& nspace,
                           std::vector<NamedFd> persisted) {
  Job* job = FindJob(nspace);
  if (job == nullptr) return;
  const std::vector<Rank>& here = job->layout->ranks_of_agent(options_.self);
  const auto file = std::ranges::find(persisted, kStatesName, &NamedFd::name);
  if (file != persisted.end()) {
    auto states = RankStates::Open(std::move(file->fd), here.size());
    if (states.ok()) job->states = std::move(states).value();
  }
  for (NamedFd& one : persisted) {
    const std::optional<Rank> rank = RankIn(one.name);
    if (!rank) continue;
    if (job->states != nullptr && std::ranges::count(here, *rank) > 0) {
      RecoverConnection(nspace, job, *rank, std::move(one.fd));
    } else {
      shutdown(one.fd.get(), SHUT_RDWR);
    }
  }
}

void Pmi1Endpoint::RecoverConnection(const std::string& nspace, Job* job,
                                     Rank rank, UniqueFd fd) {
  Connection& c = AddConnection({nspace, rank}, job->spec, std::move(fd));
  c.persisted = true;
  c.states = job->states;
  c.index = job->layout->numbers(rank).local_rank;
  c.state = c.states->Get(c.index);
  FinishAnswer(c);
  if (!c.state.initialized) return;
  sink_->OnInput(core::ClientConnected{c.id, c.proc});
  core::ClientReattached reattached{c.id, {}};
  reattached.counts.push_back(
      {core::CollectiveOp::kFence, {}, c.state.barriers});
  sink_->OnInput(std::move(reattached));
  if (c.state.finalized) sink_->OnInput(core::FinalizeArrived{c.id, 0});
}

// A command that was answered and is still in the socket: the predecessor died
// between the two. A client has its answer when that is unread in the socket or
// when it has sent its next command.
void Pmi1Endpoint::FinishAnswer(Connection& c) {
  const Waiting waiting = LookAt(c.fd.get());
  const bool answered = waiting.passed || HasUnread(c.fd.get());
  c.command_size = waiting.size;
  if (c.state.answering && waiting.size > 0 && !answered) {
    return AnswerBarrier(c);
  }
  if (answered) Done(c);
  c.command_size = 0;
  c.state.answering = false;
  PersistState(c);
}

}  // namespace canopy::pmi1
