#include "client/session/servers.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "client/events/event.h"
#include "common/status.h"

namespace canopy::client {
namespace {

using local::FrameType;

// Returns a reference that does not own the channel. The channel's owner keeps
// it as long as the reference may be used.
ChannelRef Unowned(Channel* channel) {
  return ChannelRef(std::shared_ptr<void>(), channel);
}

}  // namespace

Servers::Servers(Bootstrap* bootstrap, AgentConnection::Parts parts)
    : parts_(std::move(parts)),
      home_(std::make_shared<AgentConnection>(bootstrap, parts_)),
      launched_(!bootstrap->is_tool) {
  if (home_->channel() == nullptr) return;
  const MutexLock lock(mu_);
  (void)AddLocked(home_, /*primary=*/true);
}

Servers::~Servers() = default;

ChannelRef Servers::ChannelOf(const ConnectionRef& connection) {
  if (connection == nullptr) return nullptr;
  return ChannelRef(connection, connection->channel());
}

bool Servers::IsOpen(const ConnectionRef& connection) {
  return connection != nullptr && !connection->channel()->lost();
}

ChannelRef Servers::OfJob() const {
  return launched_ ? Unowned(home_->channel()) : primary();
}

ChannelRef Servers::primary() const {
  if (!several_.load(std::memory_order_acquire)) {
    return Unowned(home_->channel());
  }
  const MutexLock lock(mu_);
  return ChannelOf(primary_);
}

std::vector<Servers::ConnectionRef> Servers::InOrderLocked() const {
  std::vector<ConnectionRef> found;
  if (IsOpen(primary_)) found.push_back(primary_);
  for (const ConnectionRef& connection : connections_) {
    if (connection != primary_ && IsOpen(connection)) {
      found.push_back(connection);
    }
  }
  return found;
}

std::vector<ChannelRef> Servers::open() const {
  std::vector<ChannelRef> channels;
  const MutexLock lock(mu_);
  for (const ConnectionRef& connection : InOrderLocked()) {
    channels.push_back(ChannelOf(connection));
  }
  if (channels.empty() && primary_ != nullptr) {
    channels.push_back(ChannelOf(primary_));
  }
  return channels;
}

std::vector<ProcId> Servers::names() const {
  std::vector<ProcId> names;
  const MutexLock lock(mu_);
  for (const ConnectionRef& connection : InOrderLocked()) {
    names.push_back(connection->server());
  }
  return names;
}

bool Servers::Knows(const ProcId& server) const {
  const MutexLock lock(mu_);
  return std::any_of(connections_.begin(), connections_.end(),
                     [&](const ConnectionRef& connection) {
                       return connection->server() == server;
                     });
}

void Servers::SetLauncher(const ProcId& launcher, const ProcId& server) {
  const MutexLock lock(mu_);
  launcher_ = launcher;
  launchers_server_ = server;
  changed_.NotifyAll();
}

bool Servers::MeansLocked(const ProcId& asked, const ProcId& server) const {
  return Matches(asked, server) ||
         (!launcher_.nspace.empty() && Matches(asked, launcher_) &&
          server == launchers_server_);
}

Servers::ConnectionRef Servers::FindLocked(const ProcId& server) const {
  for (const ConnectionRef& connection : connections_) {
    if (MeansLocked(server, connection->server()) && IsOpen(connection)) {
      return connection;
    }
  }
  return nullptr;
}

// ------------------------------------------------------------- the others ---

int Servers::AddLocked(const ConnectionRef& connection, bool primary) {
  if (closed_) return kErrUnreach;
  const auto place =
      std::find_if(places_.begin(), places_.end(),
                   [](const auto& one) { return one.load() == nullptr; });
  if (place == places_.end()) return kErrOutOfResource;
  *place = connection.get();
  if (primary || InOrderLocked().empty()) primary_ = connection;
  connections_.push_back(connection);
  return kSuccess;
}

int Servers::Attach(Bootstrap connected, bool primary) {
  AgentConnection::Parts parts = parts_;
  parts.server = connected.server;
  const auto added =
      std::make_shared<AgentConnection>(&connected, std::move(parts));
  {
    const MutexLock lock(mu_);
    RemoveLostLocked();
    several_ = true;
    const int status = AddLocked(added, primary);
    if (status != kSuccess) return status;
    changed_.NotifyAll();
  }
  // Handlers that are registered from now on subscribe at this server too.
  const SubscriptionChange wanted = parts_.subscriptions.Now();
  if (wanted.empty()) return kSuccess;
  added->channel()->ExpectEvents(true);
  const Reply reply =
      added->channel()->Call(FrameType::kEventsWanted, wanted.Encode());
  return reply.status == kErrLostConnection ? kErrUnreach : reply.status;
}

int Servers::ChooseLocked(const ProcId& server) {
  ConnectionRef found = FindLocked(server);
  if (found == nullptr) return kErrUnreach;
  several_ = true;
  primary_ = std::move(found);
  RemoveLostLocked();
  return kSuccess;
}

int Servers::SetPrimary(const ProcId& server) {
  const MutexLock lock(mu_);
  return ChooseLocked(server);
}

int Servers::AwaitPrimary(const ProcId& server,
                          std::optional<Clock::time_point> deadline) {
  const MutexLock lock(mu_);
  for (bool in_time = true;;) {
    const int status = ChooseLocked(server);
    if (status == kSuccess || closed_) return status;
    if (!in_time) return kErrTimeout;
    if (deadline) {
      in_time = changed_.WaitUntil(mu_, *deadline);
    } else {
      changed_.Wait(mu_);
    }
  }
}

int Servers::Disconnect(const ProcId& server) {
  ConnectionRef found;
  {
    const MutexLock lock(mu_);
    found = FindLocked(server);
    if (found == nullptr) return kErrNotFound;
    if (found == home_ && launched_) return kErrNotSupported;
    several_ = true;
  }
  (void)found->channel()->Call(FrameType::kFinalize, {});
  found->Close(kErrUnreach);
  const MutexLock lock(mu_);
  RemoveLocked(found);
  return kSuccess;
}

// Removes a connection. The progress thread may be reading from it now, so a
// task that runs afterwards holds a reference. Other users of the connection
// have their own references.
void Servers::RemoveLocked(const ConnectionRef& connection) {
  for (auto& place : places_) {
    if (place.load() == connection.get()) place = nullptr;
  }
  parts_.progress.Post([kept = connection] {});
  std::erase(connections_, connection);
}

void Servers::RemoveLostLocked() {
  const std::vector<ConnectionRef> all = connections_;
  for (const ConnectionRef& connection : all) {
    if (!IsOpen(connection)) RemoveLocked(connection);
  }
}

void Servers::Close() {
  const MutexLock lock(mu_);
  closed_ = true;
  changed_.NotifyAll();
  home_->Close();
  for (const ConnectionRef& connection : connections_) connection->Close();
}

void Servers::CloseSocketsInChild() {
  for (const auto& place : places_) {
    const AgentConnection* connection = place.load();
    if (connection != nullptr && connection->socket_fd() >= 0) {
      close(connection->socket_fd());
    }
  }
}

}  // namespace canopy::client
