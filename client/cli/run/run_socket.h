// A launcher on the machine of the agent that controls the job, without gRPC:
// see common/run_protocol.h.
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
  // Connects to the socket beside an agent's control socket; null when there is
  // no listener, as with an agent of an older version.
  static std::unique_ptr<RunSocket> Connect(const std::string& control_socket);

  // Waits for the agent's greeting, unless it came before. False: it does not
  // come in `timeout_ms`.
  bool WaitGreeting(int timeout_ms);

  bool Write(const control::v1::RunRequest& request) override;
  bool Read(control::v1::RunEvent* event) override;
  std::string WhyEnded() override { return why_; }

 private:
  explicit RunSocket(UniqueFd socket) : socket_(std::move(socket)) {}
  // One message, valid until the next; false at the end.
  bool ReadMessage(std::string_view* message);

  const UniqueFd socket_;
  Mutex write_mutex_;
  MessageReader in_{kMaxRunMessage};
  bool greeted_ = false;
  bool ended_ = false;  // nothing comes after the job's end
  std::string why_;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_RUN_SOCKET_H_
