// Configuration of the endpoint for programs with their own OpenPMIx library.
#ifndef CANOPY_SERVER_OPENPMIX_OPTIONS_H_
#define CANOPY_SERVER_OPENPMIX_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/ids.h"
#include "common/shm/segment_reader.h"
#include "server/core/step/log_line.h"
#include "server/endpoint/byte_account.h"
#include "server/endpoint/listener.h"
#include "server/endpoint/newcomer.h"
#include "server/endpoint/rotation.h"
#include "server/endpoint/tool_registry.h"
#include "server/log/syslog.h"
#include "server/net/silent_connections.h"
#include "server/openpmix/peer_proof.h"
#include "server/openpmix/tool_file.h"
#include "server/ports/fd_store_port.h"
#include "server/ports/process_text.h"

namespace canopy::openpmix {

struct OpenPmixOptions {
  NodeId self = 0;
  ProcId server;     // this agent's PMIx name
  std::string host;  // this node's name
  // The numeric address to listen on, and a port or 0. Whatever the address,
  // clients must be on this machine, because the identity of a remote client
  // cannot be proved.
  std::string address = "127.0.0.1";
  uint16_t port = 0;
  // The places where tools look for a server; empty: tools need an explicit
  // address.
  ToolFilePlaces tool_files;
  // The agent's Unix socket, for tools that load Canopy's libpmix.
  std::string tool_socket;
  // Returns the data of a namespace that is registered here, or null. The data
  // is valid until the namespace is dropped.
  std::function<const shm::SegmentReader*(const std::string& nspace)> job_data;
  // Called before the name of a local rank's directory (PMIX_PROCDIR) is sent;
  // the directory must exist afterwards. May be null.
  std::function<void(const ProcId& proc)> make_directory;
  std::function<void(const core::LogLine&)> log;
  // True if the host logs the texts of ranks, by a call of HostOp::kLog.
  bool host_logs = false;
  // Receives the texts that ranks log to their standard streams if the host
  // does not log them. Null: they are dropped.
  PutText put_text;
  // The syslog of this node. Null: there is none.
  log::PutSyslog put_syslog;
  // Called when a rank has sent a heartbeat. May be null.
  std::function<void(const ProcId& proc)> on_heartbeat;
  // The proof of identities. Null: MakeHostPeerProof is used.
  std::unique_ptr<PeerProof> proof;
  // Limits for connections that do not identify themselves.
  net::SilenceLimits silence;
  // Longest time until the process of a connecting rank becomes known.
  int64_t process_timeout_ns = int64_t{5} * 1000 * 1000 * 1000;
  // The limit of the connections of one rank. A rank may have several, e.g. of
  // a forked child.
  uint32_t max_connections_per_rank = 64;
  // The registry of tools. Null: the endpoint has its own.
  std::shared_ptr<endpoint::ToolRegistry> tools;
  // Decides whether a client that has proved its identity is welcomed. Null:
  // every such client is.
  endpoint::AskAboutNewcomer ask;
  // True: tools of users who have a job on this node are also served, for the
  // jobs of their own user only. False: only tools of this process's user are
  // served.
  bool serves_job_owners = false;
  // As in local::LocalOptions.
  bool serves_all_users = false;
  // Accepts connections for the endpoint. Null: the endpoint accepts its
  // connections itself.
  endpoint::AcceptElsewhere accept;
  uint32_t max_pending_requests = 1 << 16;
  uint32_t max_payload = uint32_t{256} << 20;
  // Flow control for a client that does not read its replies: above the first
  // number of queued bytes its requests are not read, above the second its
  // connection is closed.
  size_t pause_reading_bytes = size_t{1} << 20;
  size_t max_queued_bytes = size_t{320} << 20;
  // Stores the connections of each job and their log. Null: there is no
  // successor.
  FdStorePort* fd_store = nullptr;
  endpoint::Budget budget;
  // Limits for messages that have arrived in part, and the time for which such
  // a message may make no progress.
  endpoint::ByteLimits unfinished;
  int64_t half_message_ns = endpoint::kHalfMessageNs;
};

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_OPTIONS_H_
