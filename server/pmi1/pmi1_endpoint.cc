#include "server/pmi1/pmi1_endpoint.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include "server/pmi1/answers.h"

namespace canopy::pmi1 {
namespace {

constexpr size_t kReadSize = kMaxLine + 1;
constexpr size_t kMaxUnread = 1 << 20;

std::string Entry(const char* name, size_t value) {
  return std::string(name) + "=" + std::to_string(value);
}

endpoint::ConnectionTableOptions TableOptions(const Pmi1Options& options) {
  endpoint::ConnectionTableOptions table;
  table.budget = options.budget;
  // Commands wait in the socket, where they would wake a loop for ever that
  // watches for what is there instead of for what comes.
  table.edge_events = EPOLLIN | EPOLLRDHUP | EPOLLET;
  return table;
}

}  // namespace

Pmi1Endpoint::Pmi1Endpoint(EventLoop* loop, InputSink* sink,
                           Pmi1Options options)
    : options_(std::move(options)),
      sink_(sink),
      buffer_(kReadSize),
      jobs_(options_.self),
      connections_(loop, this, sink_, TableOptions(options_)),
      persistence_(loop, &options_, &jobs_, &connections_),
      commands_(&options_, &connections_, &persistence_, sink_) {}

void Pmi1Endpoint::Log(core::LogLine::Level level, std::string text) {
  if (options_.log) options_.log({level, std::move(text)});
}

// ------------------------------------------------------ jobs and processes ---

void Pmi1Endpoint::AddJob(const core::RegisterJob& registration) {
  jobs_.Add(registration);
}

void Pmi1Endpoint::DropJob(const std::string& nspace) {
  jobs_.Drop(nspace);
  connections_.ForEach([&](Connection& c) {
    if (c.proc.nspace == nspace) connections_.End(c, "");
  });
}

std::vector<std::string> Pmi1Endpoint::ForJob(const core::PrepareLocal& job) {
  std::vector<std::string> env = {Entry("PMI_SIZE", job.job->procs.size())};
  const size_t here = job.layout->ranks_of_agent(options_.self).size();
  if (here > 0) env.push_back(Entry("MPI_LOCALNRANKS", here));
  if (!job.job->parent.nspace.empty()) env.push_back(Entry("PMI_SPAWNED", 1));
  return env;
}

std::vector<std::string> Pmi1Endpoint::ForRank(const core::PrepareLocal& job,
                                               Rank rank) {
  return {Entry("PMI_RANK", rank),
          Entry("MPI_LOCALRANKID", job.layout->numbers(rank).local_rank)};
}

ProcessEnvironment::InheritedFd Pmi1Endpoint::FdForRank(
    const core::PrepareLocal& job, Rank rank) {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
    Log(core::LogLine::Level::kError, "no PMI-1 socket for " +
                                          ToString({job.job->nspace, rank}) +
                                          ": " + std::strerror(errno));
    return {};
  }
  AddConnection({job.job->nspace, rank}, job.job, UniqueFd(fds[0]));
  persistence_.PersistSoon({job.job->nspace, rank});
  return {fds[1], "PMI_FD"};
}

// ------------------------------------------------------------ connections ---

void Pmi1Endpoint::Reply(const core::ReplyClient& reply) {
  Connection* c = connections_.Find(reply.client);
  if (c != nullptr) commands_.Reply(*c, reply);
}

void Pmi1Endpoint::Close(core::ClientId client, const std::string& reason) {
  if (Connection* c = connections_.Find(client)) connections_.End(*c, reason);
}

Connection& Pmi1Endpoint::AddConnection(const ProcId& proc,
                                        std::shared_ptr<const JobSpec> job,
                                        UniqueFd fd) {
  auto connection = std::make_unique<Connection>();
  Connection& c = *connection;
  c.id = MakeClientId(ClientKind::kPmi1, next_number_++);
  c.fd = std::move(fd);
  c.proc = proc;
  c.job = std::move(job);
  if (auto* rank = jobs_.FindRank(proc)) rank->client = c.id;
  connections_.Add(std::move(connection));
  return c;
}

void Pmi1Endpoint::LogEnd(const endpoint::Connection& connection,
                          const std::string& reason) {
  const auto& c = static_cast<const Connection&>(connection);
  Log(core::LogLine::Level::kWarning,
      "closing PMI-1 connection of " + ToString(c.proc) + ": " + reason);
}

void Pmi1Endpoint::OnClosed(endpoint::Connection& connection) {
  auto& c = static_cast<Connection&>(connection);
  // With something unread in it, its end would be an error to the client.
  TakeFrom(c.fd.get(), kMaxUnread);
  persistence_.End(c);
  auto* rank = jobs_.FindRank(c.proc);
  if (rank != nullptr && rank->client == c.id) rank->client = 0;
  if (c.state.initialized) sink_->OnInput(core::ClientGone{c.id});
}

// Whatever was sent is only looked at: a command leaves the socket when it has
// its answer, so that a successor finds those without one.
std::string_view Pmi1Endpoint::Read(endpoint::Connection& connection) {
  auto& c = static_cast<Connection&>(connection);
  if (c.command_size != 0) {
    if (c.hung_up) connections_.End(c, "");
    return {};
  }
  const ssize_t n =
      recv(c.fd.get(), buffer_.data(), buffer_.size(), MSG_PEEK | MSG_DONTWAIT);
  if (n > 0) return {buffer_.data(), static_cast<size_t>(n)};
  if (n == 0 || (errno != EAGAIN && errno != EINTR)) connections_.End(c, "");
  return {};
}

size_t Pmi1Endpoint::Handle(endpoint::Connection& connection,
                            std::string_view data) {
  auto& c = static_cast<Connection&>(connection);
  if (c.command_size != 0) return 0;
  const size_t end = data.find('\n');
  if (end == data.npos) {
    if (data.size() > kMaxLine) {
      connections_.End(c, "sent a line that is too long");
    } else if (c.hung_up) {
      connections_.End(c, "");
    }
    return 0;
  }
  c.command_size = end + 1;
  commands_.Handle(c, data.substr(0, end));
  return end + 1;
}

// --------------------------------------------------------------- recovery ---

bool Pmi1Endpoint::IsPersistedName(std::string_view name) {
  return name.starts_with(kPersistedPrefix);
}

void Pmi1Endpoint::Recover(const std::string& nspace,
                           std::vector<NamedFd> persisted) {
  Jobs::Job* job = jobs_.Find(nspace);
  if (job == nullptr) return;
  const std::vector<Rank>& here = job->layout->ranks_of_agent(options_.self);
  RecoverStates(nspace, job, here.size(), persisted);
  std::map<Rank, UniqueFd> spawns;
  for (NamedFd& one : persisted) {
    if (const auto rank = SpawnerIn(one.name))
      spawns[*rank] = std::move(one.fd);
  }
  for (NamedFd& one : persisted) {
    const std::optional<Rank> rank = RankIn(one.name);
    if (!rank) continue;
    if (job->states != nullptr && std::ranges::count(here, *rank) > 0) {
      RecoverConnection(nspace, job, *rank, std::move(one.fd),
                        std::move(spawns[*rank]));
    } else {
      shutdown(one.fd.get(), SHUT_RDWR);
    }
  }
}

void Pmi1Endpoint::RecoverStates(const std::string& nspace, Jobs::Job* job,
                                 size_t ranks,
                                 std::vector<NamedFd>& persisted) {
  const auto file = std::ranges::find(persisted, kStatesName, &NamedFd::name);
  if (file == persisted.end()) return;
  auto states = RankStates::Open(std::move(file->fd), ranks);
  if (!states.ok()) return;
  job->states = std::move(states).value();
  const auto changes =
      std::ranges::find(persisted, kChangesName, &NamedFd::name);
  if (changes != persisted.end())
    (void)job->states->AdoptChanges(std::move(changes->fd));
  persistence_.CompleteStates(nspace, job->states.get());
}

void Pmi1Endpoint::RecoverConnection(const std::string& nspace, Jobs::Job* job,
                                     Rank rank, UniqueFd fd, UniqueFd spawn) {
  Connection& c = AddConnection({nspace, rank}, job->spec, std::move(fd));
  c.persisted = true;
  c.states = job->states;
  c.index = job->layout->numbers(rank).local_rank;
  c.state = c.states->Get(c.index);
  c.changes = c.states->GetChange(c.index);
  if (spawn) commands_.changes().RecoverSpawn(c, std::move(spawn));
  commands_.FinishRecovered(c);
  if (!c.state.initialized) return;
  sink_->OnInput(core::ClientConnected{c.id, c.proc});
  core::ClientReattached reattached{c.id, {}};
  reattached.counts.push_back(
      {core::CollectiveOp::kFence, {}, c.state.barriers});
  sink_->OnInput(std::move(reattached));
  commands_.changes().Resume(c);
  if (c.state.finalized) sink_->OnInput(core::FinalizeArrived{c.id, 0});
}

}  // namespace canopy::pmi1
