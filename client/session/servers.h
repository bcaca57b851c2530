// The servers of one process: the agent that it has begun with, and those that
// a tool attaches to (chapter "Tools and Debuggers").
#ifndef CANOPY_CLIENT_SESSION_SERVERS_H_
#define CANOPY_CLIENT_SESSION_SERVERS_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "client/channel/channel.h"
#include "client/session/agent_connection.h"
#include "client/session/bootstrap.h"
#include "common/ids.h"
#include "common/mutex.h"

namespace canopy::client {

// So many at a time.
inline constexpr size_t kMaxServers = 64;

// A connection that stays usable while somebody refers to it.
using ChannelRef = std::shared_ptr<Channel>;

// Any thread. What a process asks goes to one of its servers, the primary: the
// first, until it chooses another. Events are wanted from all.
class Servers {
 public:
  using Clock = std::chrono::steady_clock;

  // Takes the connection out of *bootstrap; none is no server. `parts` outlive
  // this; their `server` is the one of *bootstrap.
  Servers(Bootstrap* bootstrap, AgentConnection::Parts parts);
  ~Servers();

  // Nobody has launched this process, nor is it a job of its own.
  bool is_tool() const { return !launched_; }
  // What this process has begun with, with or without a connection. It stays as
  // long as this object does.
  AgentConnection& home() { return *home_; }
  const AgentConnection& home() const { return *home_; }
  // The server of a process that was launched has its data, and what it does
  // with the others of its job is for that server alone. Null: no server.
  ChannelRef OfJob() const;
  // Null until there was one. One that was lost or disconnected stays primary
  // until another is chosen; it answers kErrLostConnection or kErrUnreach.
  ChannelRef primary() const;
  // Those that are connected, the primary first and the others in the order of
  // attachment; when there is none, the primary, which answers why.
  std::vector<ChannelRef> open() const;
  // The same by name, without one that is not connected.
  std::vector<ProcId> names() const;
  bool Knows(const ProcId& server) const;

  // Adds a server; it becomes the primary when that is asked for, or when there
  // is no other. Events that are wanted are wanted from it, too.
  // kErrOutOfResource: there are too many; kErrUnreach: this process ends, or
  // the connection is lost already.
  int Attach(Bootstrap connected, bool primary);
  // Chooses a server by name; its rank may be the wildcard. kErrUnreach: there
  // is no connection to it.
  int SetPrimary(const ProcId& server);
  // The same, and waits for the connection until `deadline`; kErrTimeout.
  // Nothing: as long as it takes. kErrUnreach: this process ends.
  int AwaitPrimary(const ProcId& server,
                   std::optional<Clock::time_point> deadline);
  // The launcher that this process has started, by which a connected server is
  // known as well: to SetPrimary, AwaitPrimary and Disconnect.
  void SetLauncher(const ProcId& launcher, const ProcId& server);
  // Ends a connection; what waits for an answer over it gets kErrUnreach.
  // kErrNotFound: there is none; kErrNotSupported: it is that of a process that
  // was launched, to what has launched it.
  int Disconnect(const ProcId& server);

  // Fails what waits for servers; later calls fail at once.
  void Close();
  // In a child of a fork, whose copies would keep connections open.
  void CloseSocketsInChild();

 private:
  using ConnectionRef = std::shared_ptr<AgentConnection>;

  static ChannelRef ChannelOf(const ConnectionRef& connection);
  static bool IsOpen(const ConnectionRef& connection);
  bool MeansLocked(const ProcId& asked, const ProcId& server) const
      CANOPY_REQUIRES(mu_);
  ConnectionRef FindLocked(const ProcId& server) const CANOPY_REQUIRES(mu_);
  std::vector<ConnectionRef> InOrderLocked() const CANOPY_REQUIRES(mu_);
  int AddLocked(const ConnectionRef& connection, bool primary)
      CANOPY_REQUIRES(mu_);
  int ChooseLocked(const ProcId& server) CANOPY_REQUIRES(mu_);
  void RemoveLocked(const ConnectionRef& connection) CANOPY_REQUIRES(mu_);
  void RemoveLostLocked() CANOPY_REQUIRES(mu_);

  const AgentConnection::Parts parts_;
  const ConnectionRef home_;
  const bool launched_;
  // Whether the primary may be another than home_, which costs no lock.
  std::atomic<bool> several_{false};
  // For a child of a fork, in which the mutex may be held by nobody.
  std::array<std::atomic<const AgentConnection*>, kMaxServers> places_{};

  mutable Mutex mu_;
  CondVar changed_;
  bool closed_ CANOPY_GUARDED_BY(mu_) = false;
  ProcId launcher_ CANOPY_GUARDED_BY(mu_);  // no namespace: none
  ProcId launchers_server_ CANOPY_GUARDED_BY(mu_);
  ConnectionRef primary_ CANOPY_GUARDED_BY(mu_);
  std::vector<ConnectionRef> connections_ CANOPY_GUARDED_BY(mu_);
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_SERVERS_H_
