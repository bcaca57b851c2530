// How the endpoint for clients of our libpmix is set up.
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
#include "server/core/step/log_line.h"
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
  EnvironmentOptions environment;  // socket_path is the socket's place
  mode_t socket_mode = 0600;       // who may connect
  ProcId server;                   // this agent, as PMIx names it
  // A namespace's segment; nothing when the agent has none.
  std::function<std::optional<SegmentRef>(const std::string& nspace)> segment;
  // Whether everything that is visible of a rank is in its namespace's
  // segment; what is not travels in answers to gets. Empty: it always is.
  std::function<bool(const ProcId& proc)> holds;
  // Called when a rank's process exists. May be empty.
  std::function<void(const std::string& nspace, Rank rank, int pid)> on_process;
  // Called when a rank connects whose library expects its directory to exist.
  // May be empty.
  std::function<void(const ProcId& proc)> make_directory;
  // Gets each job's commit mailboxes before a process can write to them. Null:
  // there is no successor.
  FdStorePort* fd_store = nullptr;
  // The token by which a rank proves its identity; a successor must derive the
  // same. Empty: random.
  std::function<std::string(const ProcId& proc)> token;
  std::function<void(const core::LogLine&)> log;
  // Null: one of this endpoint's own.
  std::shared_ptr<endpoint::ToolRegistry> tools;
  // Null: whoever has proved who it is gets a welcome.
  endpoint::AskAboutNewcomer ask;
  // Tools of users who have a job here are served too, as far as the jobs of
  // their own user go; else those of this process's user alone.
  bool serves_job_owners = false;
  // Null: the endpoint accepts its connections itself.
  endpoint::AcceptElsewhere accept;
  // Null: HostIdentityPolicy.
  std::unique_ptr<IdentityPolicy> identity;
  // Fences over a job whose ranks are all here are inputs of the core too,
  // because a host has a say in them.
  bool host_decides_fences = false;
  // How long clients try to reattach to a successor when this agent is gone.
  uint32_t reattach_ms = 0;
  // Of connections that do not say who they are.
  net::SilenceLimits silence;
  // Several connections of one rank are legal (a forked child is one).
  uint32_t max_connections_per_rank = 64;
  // Polling interval for barriers without progress: half the time after which a
  // fence with a late rank is passed to the core. Also for commits without a
  // request, because clients may look for them in the segment.
  int64_t watch_barriers_ns = int64_t{250} * 1000 * 1000;
  // Flow control of a client that does not read its replies: above the first
  // number of queued bytes its requests are not read, above the second it is
  // closed.
  size_t pause_reading_bytes = size_t{1} << 20;
  size_t max_queued_bytes = size_t{320} << 20;
  endpoint::Budget budget;
};

}  // namespace canopy::local

#endif  // CANOPY_SERVER_LOCAL_LOCAL_OPTIONS_H_
