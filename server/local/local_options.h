// Configuration of the endpoint for clients of Canopy's libpmix.
#ifndef CANOPY_SERVER_LOCAL_LOCAL_OPTIONS_H_
#define CANOPY_SERVER_LOCAL_LOCAL_OPTIONS_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/ids.h"
#include "common/status.h"
#include "server/core/step/log_line.h"
#include "server/endpoint/byte_account.h"
#include "server/endpoint/listener.h"
#include "server/endpoint/newcomer.h"
#include "server/endpoint/rotation.h"
#include "server/endpoint/tool_registry.h"
#include "server/local/environment.h"
#include "server/local/identity.h"
#include "server/net/silent_connections.h"
#include "server/ports/fd_store_port.h"

namespace canopy::local {

// A job's shared memory.
struct SegmentRef {
  int fd = -1;
  uint64_t size = 0;
  std::shared_ptr<const void> owner;  // keeps fd open
};

struct LocalOptions {
  // `socket_path` is the path of the endpoint's listening socket.
  EnvironmentOptions environment;
  mode_t socket_mode = 0600;  // who may connect
  ProcId server;              // this agent's PMIx name
  // Returns a namespace's segment; no value if the agent has none.
  std::function<std::optional<SegmentRef>(const std::string& nspace)> segment;
  // Returns true if all visible data of a rank is in its namespace's segment;
  // other data is sent in answers to gets. Empty: all data is in the segment.
  std::function<bool(const ProcId& proc)> holds;
  // Called when a rank's process exists. May be empty.
  std::function<void(const std::string& nspace, Rank rank, int pid)> on_process;
  // Stores each job's commit mailboxes before a process can write to them.
  // Null: there is no successor.
  FdStorePort* fd_store = nullptr;
  // Returns the token by which a rank proves its identity; a successor must
  // derive the same token. Empty: tokens are random.
  std::function<std::string(const ProcId& proc)> token;
  std::function<void(const core::LogLine&)> log;
  // The registry of tools. Null: the endpoint has its own.
  std::shared_ptr<endpoint::ToolRegistry> tools;
  // Decides whether a peer that has proved its identity is welcomed. Null:
  // every such peer is.
  endpoint::AskAboutNewcomer ask;
  // True: tools of users who have a job on this node are also served, for the
  // jobs of their own user only. False: only tools of this process's user are
  // served.
  bool serves_job_owners = false;
  // True: tools of all users are served, for the jobs of their own user only.
  bool serves_all_users = false;
  // Accepts connections for the endpoint. Null: the endpoint accepts its
  // connections itself.
  endpoint::AcceptElsewhere accept;
  // The policy for ranks. Null: HostIdentityPolicy is used.
  std::unique_ptr<IdentityPolicy> identity;
  // Returns the pod of the process that made a connection at the socket for
  // Kubernetes pods. Null: there is no such socket.
  std::function<Result<std::string>(int socket)> pod_of_peer;
  // Returns the pod in which the ranks of a job on this node run; empty: they
  // are processes of this machine. Null: all are.
  std::function<std::string(const std::string& nspace)> pod_of_job;
  // True if fences over a job whose ranks are all local are inputs of the core
  // too, because a host takes part in them.
  bool host_decides_fences = false;
  // The time in milliseconds for which clients try to reattach to a successor
  // when this agent is gone.
  uint32_t reattach_ms = 0;
  // Limits for connections that do not identify themselves.
  net::SilenceLimits silence;
  // The limit of the connections of one rank. A rank may have several, e.g. of
  // a forked child.
  uint32_t max_connections_per_rank = 64;
  // Polling interval for barriers without progress: half the time after which a
  // fence with a late rank is passed to the core. It is also the interval at
  // which mailboxes are read without a request, because clients may look for
  // commits in the segment.
  int64_t watch_barriers_ns = int64_t{250} * 1000 * 1000;
  // Flow control for a client that does not read its replies: above the first
  // number of queued bytes its requests are not read, above the second its
  // connection is closed.
  size_t pause_reading_bytes = size_t{1} << 20;
  size_t max_queued_bytes = size_t{320} << 20;
  endpoint::Budget budget;
  // Limits for messages that have arrived in part, and the time for which such
  // a message may make no progress.
  endpoint::ByteLimits unfinished;
  int64_t half_message_ns = endpoint::kHalfMessageNs;
};

}  // namespace canopy::local

#endif  // CANOPY_SERVER_LOCAL_LOCAL_OPTIONS_H_
