#include "server/pmi/pmi_endpoint.h"

#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include "server/pmi/answers.h"
#include "server/pmi/change_server.h"
#include "server/pmi/message.h"

namespace canopy::pmi {
namespace {

// The size of a read, which is sufficient for most messages. A longer PMI-2
// message has its length in its header.
constexpr size_t kReadSize = kMaxLine + 1;
constexpr size_t kMaxUnread = 1 << 20;

// Returns the number of bytes in the socket.
size_t NumWaiting(int fd) {
  int bytes = 0;
  return ioctl(fd, FIONREAD, &bytes) == 0 && bytes > 0
             ? static_cast<size_t>(bytes)
             : 0;
}

std::string Entry(const char* name, size_t value) {
  return std::string(name) + "=" + std::to_string(value);
}

endpoint::ConnectionTableOptions TableOptions(const PmiOptions& options) {
  endpoint::ConnectionTableOptions table;
  table.budget = options.budget;
  // Commands wait in the socket, so a level-triggered loop would wake
  // continuously.
  table.edge_events = EPOLLIN | EPOLLRDHUP | EPOLLET;
  return table;
}

}  // namespace

PmiEndpoint::PmiEndpoint(EventLoop* loop, InputSink* sink, PmiOptions options)
    : options_(std::move(options)),
      sink_(sink),
      buffer_(kMaxInSocket),
      jobs_(options_.self),
      connections_(loop, this, sink_, TableOptions(options_)),
      persistence_(loop, &options_, &jobs_, &connections_),
      commands_(&options_, &jobs_, &connections_, &persistence_, sink_) {}

void PmiEndpoint::Log(core::LogLine::Level level, std::string text) {
  if (options_.log) options_.log({level, std::move(text)});
}

// ------------------------------------------------------ jobs and processes ---

void PmiEndpoint::AddJob(const core::RegisterJob& registration) {
  jobs_.Add(registration);
}

void PmiEndpoint::DropJob(const std::string& nspace) {
  jobs_.Drop(nspace);
  connections_.ForEach([&](Connection& c) {
    if (c.proc.nspace == nspace) connections_.End(c, "");
  });
}

std::vector<std::string> PmiEndpoint::ForJob(const core::PrepareLocal& job) {
  std::vector<std::string> env = {Entry("PMI_SIZE", job.job->procs.size())};
  const size_t here = job.layout->ranks_of_agent(options_.self).size();
  if (here > 0) env.push_back(Entry("MPI_LOCALNRANKS", here));
  if (!job.job->parent.nspace.empty()) env.push_back(Entry("PMI_SPAWNED", 1));
  return env;
}

std::vector<std::string> PmiEndpoint::ForRank(const core::PrepareLocal& job,
                                              Rank rank) {
  return {Entry("PMI_RANK", rank),
          Entry("MPI_LOCALRANKID", job.layout->numbers(rank).local_rank)};
}

ProcessEnvironment::InheritedFd PmiEndpoint::FdForRank(
    const core::PrepareLocal& job, Rank rank) {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0) {
    Log(core::LogLine::Level::kError, "no PMI socket for " +
                                          ToString({job.job->nspace, rank}) +
                                          ": " + std::strerror(errno));
    return {};
  }
  const ProcId proc{job.job->nspace, rank};
  EndFormer(proc);
  AddConnection(proc, job.job, UniqueFd(fds[0]));
  persistence_.PersistSoon(proc);
  return {fds[1], "PMI_FD"};
}

// Ends the connection of the rank's former process, because the next process
// uses the same place for its persisted state.
void PmiEndpoint::EndFormer(const ProcId& proc) {
  const auto* rank = jobs_.FindRank(proc);
  if (rank != nullptr && rank->client != 0) connections_.Destroy(rank->client);
}

// ------------------------------------------------------------ connections ---

void PmiEndpoint::Reply(const core::ReplyClient& reply) {
  Connection* c = connections_.Find(reply.client);
  if (c != nullptr) commands_.Reply(*c, reply);
}

void PmiEndpoint::Close(core::ClientId client, const std::string& reason) {
  if (Connection* c = connections_.Find(client)) connections_.End(*c, reason);
}

Connection& PmiEndpoint::AddConnection(const ProcId& proc,
                                       std::shared_ptr<const JobSpec> job,
                                       UniqueFd fd) {
  auto connection = std::make_unique<Connection>();
  Connection& c = *connection;
  c.id = MakeClientId(ClientKind::kPmi, next_number_++);
  c.fd = std::move(fd);
  c.proc = proc;
  c.job = std::move(job);
  if (auto* rank = jobs_.FindRank(proc)) rank->client = c.id;
  connections_.Add(std::move(connection));
  return c;
}

void PmiEndpoint::LogEnd(const endpoint::Connection& connection,
                         const std::string& reason) {
  const auto& c = static_cast<const Connection&>(connection);
  if (!options_.log) return;
  options_.log({core::LogLine::Level::kWarning,
                "closing PMI connection of " + ToString(c.proc) + ": " + reason,
                c.job->uid});
}

void PmiEndpoint::OnClosed(endpoint::Connection& connection) {
  auto& c = static_cast<Connection&>(connection);
  // Unread data in the socket would turn the end into an error for the client.
  TakeFrom(c.fd.get(), kMaxUnread);
  persistence_.End(c);
  auto* rank = jobs_.FindRank(c.proc);
  if (rank != nullptr && rank->client == c.id) rank->client = 0;
  if (c.state.initialized) sink_->OnInput(core::ClientGone{c.id});
}

// Only peeks at the data, because a command is removed from the socket when it
// is answered, so that a successor finds the commands without an answer.
std::string_view PmiEndpoint::Read(endpoint::Connection& connection) {
  auto& c = static_cast<Connection&>(connection);
  if (c.command_size != 0) {
    if (c.hung_up) connections_.End(c, "");
    return {};
  }
  // A message that arrives slowly is read when it is complete, not at each of
  // its bytes.
  if (c.wanted > 0 && !c.hung_up && NumWaiting(c.fd.get()) < c.wanted)
    return {};
  const ssize_t n =
      recv(c.fd.get(), buffer_.data(), std::max(kReadSize, c.wanted),
           MSG_PEEK | MSG_DONTWAIT);
  if (n > 0) return {buffer_.data(), static_cast<size_t>(n)};
  if (n == 0 || (errno != EAGAIN && errno != EINTR)) connections_.End(c, "");
  return {};
}

size_t PmiEndpoint::Handle(endpoint::Connection& connection,
                           std::string_view data) {
  auto& c = static_cast<Connection&>(connection);
  if (c.command_size != 0) return 0;
  const Message message = FirstMessage(c.state.pmi2, data);
  if (message.problem != nullptr) {
    connections_.End(c, message.problem);
    return 0;
  }
  if (message.size == 0) {
    Await(c, message.wanted);
    return 0;
  }
  c.wanted = 0;
  c.command_size = message.size;
  commands_.Handle(c, message);
  return message.size;
}

// Waits for the rest of a message of `wanted` bytes; 0: unknown.
void PmiEndpoint::Await(Connection& c, size_t wanted) {
  const bool was_known = std::exchange(c.wanted, wanted) == wanted;
  if (c.hung_up) return connections_.End(c, "");
  if (wanted == 0 || NumWaiting(c.fd.get()) < wanted) return;
  // All bytes of the message have arrived, so no event would cause another
  // read. If this length was requested before, a descriptor that the client has
  // put into the stream has cut the read short.
  if (was_known) return connections_.End(c, "sent a descriptor in a message");
  connections_.Continue(c);
}

// --------------------------------------------------------------- recovery ---

bool PmiEndpoint::IsPersistedName(std::string_view name) {
  return name.starts_with(kPersistedPrefix);
}

void PmiEndpoint::Recover(const std::string& nspace,
                          std::vector<NamedFd> persisted) {
  Jobs::Job* job = jobs_.Find(nspace);
  if (job == nullptr) return;
  const std::vector<Rank>& here = job->layout->ranks_of_agent(options_.self);
  RecoverStates(nspace, job, here.size(), persisted);
  std::map<Rank, PersistedConnection> connections;
  for (NamedFd& one : persisted) {
    if (const auto spawner = SpawnerIn(one.name))
      connections[*spawner].spawn = std::move(one.fd);
    if (const auto logged = LoggedIn(one.name))
      connections[*logged].outcomes = std::move(one.fd);
    if (const auto rank = RankIn(one.name))
      connections[*rank].socket = std::move(one.fd);
  }
  for (auto& [rank, connection] : connections) {
    if (!connection.socket) continue;
    if (job->states != nullptr && std::ranges::count(here, rank) > 0) {
      RecoverConnection(nspace, job, rank, std::move(connection));
    } else {
      shutdown(connection.socket.get(), SHUT_RDWR);
    }
  }
}

void PmiEndpoint::RecoverStates(const std::string& nspace, Jobs::Job* job,
                                size_t ranks, std::vector<NamedFd>& persisted) {
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

void PmiEndpoint::RecoverConnection(const std::string& nspace, Jobs::Job* job,
                                    Rank rank, PersistedConnection persisted) {
  Connection& c =
      AddConnection({nspace, rank}, job->spec, std::move(persisted.socket));
  c.persisted = true;
  c.states = job->states;
  c.index = job->layout->numbers(rank).local_rank;
  c.state = c.states->Get(c.index);
  c.changes = c.states->GetChange(c.index);
  ChangeServer& changes = commands_.changes();
  if (persisted.spawn) changes.RecoverSpawn(c, std::move(persisted.spawn));
  if (persisted.outcomes)
    changes.RecoverOutcomes(c, std::move(persisted.outcomes));
  commands_.FinishRecovered(c);
  if (c.state.initialized) ReportRecovered(c);
}

void PmiEndpoint::ReportRecovered(Connection& c) {
  sink_->OnInput(core::ClientConnected{c.id, c.proc});
  core::ClientReattached reattached{c.id, ChangeServer::Connects(c)};
  reattached.counts.push_back(
      {core::CollectiveOp::kFence, {}, c.state.barriers});
  sink_->OnInput(std::move(reattached));
  commands_.changes().Resume(c);
  if (c.state.finalized) sink_->OnInput(core::FinalizeArrived{c.id, 0});
}

}  // namespace canopy::pmi
