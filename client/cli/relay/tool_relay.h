// The relay of `canopy relay`: represents an agent of another machine to this
// user's tools on this machine.
#ifndef CANOPY_CLIENT_CLI_RELAY_TOOL_RELAY_H_
#define CANOPY_CLIENT_CLI_RELAY_TOOL_RELAY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "client/cli/relay/relay_call.h"
#include "common/event_loop.h"
#include "common/posix/acceptor.h"
#include "common/posix/unique_fd.h"
#include "common/status.h"
#include "protos/relay.grpc.pb.h"
#include "server/net/line_limit.h"
#include "server/openpmix/peer_proof.h"
#include "server/openpmix/tool_file.h"
#include "server/relay/byte_bridge.h"

namespace canopy::cli {

struct ToolRelayOptions {
  // A private directory that only the relay uses.
  std::string directory;
  // The limit of simultaneous connections.
  size_t max_connections = 128;
  relay::BridgeOptions bridge{.closes_at_end = true};
  // Receives a line for the user when a connection fails.
  std::function<void(const std::string& line)> report;
};

// Provides a Unix socket for tools that load Canopy's libpmix, a port on
// loopback for tools with OpenPMIx, and rendezvous files that lead to both, as
// an agent does. Serves only processes of its own user, which it verifies
// through the kernel. Used on the loop's thread; `loop` must outlive this
// object.
class ToolRelay {
 public:
  ToolRelay(EventLoop* loop, std::unique_ptr<relay::v1::ToolRelay::Stub> agent,
            ToolRelayOptions options);
  // Ends all connections. Runs the loop for this, for at most two seconds.
  ~ToolRelay();
  ToolRelay(const ToolRelay&) = delete;
  ToolRelay& operator=(const ToolRelay&) = delete;

  // Starts to listen and writes the files. `agent` is the agent's description
  // of itself. Returns an error if the agent's name is not usable in a file
  // name, or if a socket or a file cannot be created.
  Status Start(const relay::v1::DescribeReply& agent);

  // Returns the value for --uri, and the path of an attachment file. Valid
  // after Start.
  const std::string& uri() const { return uri_; }
  std::string file() const { return tool_file_.paths().front(); }
  size_t num_connections() const { return calls_.size(); }

 private:
  struct Door {
    Acceptor acceptor;
    ToolProtocol protocol;
  };

  void Listen(UniqueFd listener, ToolProtocol protocol);
  void OnConnection(ToolProtocol protocol, UniqueFd socket);
  Result<uint32_t> UserOf(ToolProtocol protocol, int socket) const;
  Status Check(uint32_t uid) const;
  void OnDone(uint64_t number, const grpc::Status& status);

  EventLoop* const loop_;
  const std::unique_ptr<relay::v1::ToolRelay::Stub> agent_;
  const ToolRelayOptions options_;
  const std::unique_ptr<openpmix::PeerProof> proof_;
  std::string socket_;  // path; empty: there is none
  std::string uri_;
  openpmix::ToolFile tool_file_;
  std::map<int, Door> doors_;  // the key is the listening socket
  net::LineLimit lines_;       // limits the lines about rejected users
  uint64_t next_ = 0;
  std::map<uint64_t, std::unique_ptr<RelayCall>> calls_;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RELAY_TOOL_RELAY_H_
