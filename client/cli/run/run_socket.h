// The connection of a launcher to the agent that controls its job, on the same
// machine; works without gRPC (common/run_protocol.h).
#ifndef CANOPY_CLIENT_CLI_RUN_RUN_SOCKET_H_
#define CANOPY_CLIENT_CLI_RUN_RUN_SOCKET_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "client/cli/control/run_connection.h"
#include "common/message_stream.h"
#include "common/mutex.h"
#include "common/posix/unique_fd.h"
#include "common/run_protocol.h"

namespace canopy::cli {

class RunSocket : public RunConnection {
 public:
  // Connects to the socket beside an agent's control socket. Returns null if no
  // agent listens there; an agent of an older version does not.
  static std::unique_ptr<RunSocket> Connect(const std::string& control_socket);

  // Waits for the agent's greeting, unless it has already arrived. Returns
  // false if it does not arrive within `timeout_ms`.
  bool WaitGreeting(int timeout_ms);
  // Returns whether the agent that has greeted launches new jobs.
  bool at_leader() const { return at_leader_; }

  bool Write(const control::v1::RunRequest& request) override;
  bool Read(control::v1::RunEvent* event) override;
  std::string WhyEnded() override { return why_; }

 private:
  explicit RunSocket(UniqueFd socket) : socket_(std::move(socket)) {}
  // Reads one message, which is valid until the next call. Returns false at the
  // end of the stream.
  bool ReadMessage(std::string_view* message);

  const UniqueFd socket_;
  Mutex write_mutex_;
  MessageReader in_{kMaxRunMessage};
  bool greeted_ = false;
  bool at_leader_ = false;
  bool ended_ = false;  // true after the job's end, which is the last event
  std::string why_;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_RUN_SOCKET_H_
