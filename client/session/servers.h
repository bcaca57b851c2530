// The servers of one process: the agent it started with, and the servers to
// which a tool attaches (PMIx Standard, chapter "Tools and Debuggers").
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

// The maximal number of connected servers.
inline constexpr size_t kMaxServers = 64;

// A connection that stays usable as long as a reference to it exists.
using ChannelRef = std::shared_ptr<Channel>;

// Any thread. Requests of the process go to one server, the primary, which is
// the first until another is chosen. Events are requested from all servers.
class Servers {
 public:
  using Clock = std::chrono::steady_clock;

  // Moves the connection out of *bootstrap; without a connection the process
  // starts without a server. `parts` must outlive this object; their `server`
  // is the server of *bootstrap.
  Servers(Bootstrap* bootstrap, AgentConnection::Parts parts);
  ~Servers();

  // Returns true if this process was not launched and is not a job of its own.
  bool is_tool() const { return !launched_; }
  // Returns the connection that this process started with, which may be closed.
  // It lives as long as this object.
  AgentConnection& home() { return *home_; }
  const AgentConnection& home() const { return *home_; }
  // Returns the server that has the data of this process and serves all
  // operations with others of its job: the server of a launched process, or the
  // primary of a tool. Returns null if there is none.
  ChannelRef OfJob() const;
  // Returns the primary server, or null until a server has been connected. A
  // lost or disconnected server stays primary until another is chosen; it
  // answers kErrLostConnection or kErrUnreach.
  ChannelRef primary() const;
  // Returns the connected servers: the primary first, the others in the order
  // of attachment. If no server is connected, returns only the primary, whose
  // answers give the reason.
  std::vector<ChannelRef> open() const;
  // Returns the names of the connected servers.
  std::vector<ProcId> names() const;
  bool Knows(const ProcId& server) const;

  // Adds a server. The server becomes the primary if `primary` is set or there
  // is no other. Subscriptions to events are repeated at it. Fails with
  // kErrOutOfResource if there are too many servers, with kErrUnreach if this
  // process ends or the connection is lost already, and with the server's
  // status if it refuses the subscriptions.
  int Attach(Bootstrap connected, bool primary);
  // Chooses a server by name; its rank may be the wildcard. Returns kErrUnreach
  // if it is not connected.
  int SetPrimary(const ProcId& server);
  // Waits until the server is connected, at most until `deadline` (no value:
  // without limit), and then chooses it as SetPrimary does. Returns kErrTimeout
  // at the deadline, and kErrUnreach if this process ends.
  int AwaitPrimary(const ProcId& server,
                   std::optional<Clock::time_point> deadline);
  // Gives a connected server a second name, the name of the launcher that this
  // process has started. SetPrimary, AwaitPrimary and Disconnect accept it.
  void SetLauncher(const ProcId& launcher, const ProcId& server);
  // Ends a connection; requests that wait for an answer over it get
  // kErrUnreach. Returns kErrNotFound if there is no such connection, and
  // kErrNotSupported for the connection of a launched process to its own agent.
  int Disconnect(const ProcId& server);

  // Fails all pending requests to servers; later calls fail at once.
  void Close();
  // Called in a child after fork, because the child's copies of the sockets
  // keep connections open.
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
  // Set if the primary may be a server other than home_. No lock is needed to
  // read this flag.
  std::atomic<bool> several_{false};
  // For CloseSocketsInChild, which cannot take the mutex, because a thread that
  // does not exist in the child may hold it.
  std::array<std::atomic<const AgentConnection*>, kMaxServers> places_{};

  mutable Mutex mu_;
  CondVar changed_;
  bool closed_ CANOPY_GUARDED_BY(mu_) = false;
  ProcId launcher_ CANOPY_GUARDED_BY(mu_);  // empty namespace: none
  ProcId launchers_server_ CANOPY_GUARDED_BY(mu_);
  ConnectionRef primary_ CANOPY_GUARDED_BY(mu_);
  std::vector<ConnectionRef> connections_ CANOPY_GUARDED_BY(mu_);
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_SERVERS_H_
