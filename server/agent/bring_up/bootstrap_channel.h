// The agent's side of the bootstrap exchange (protos/bootstrap.proto).
#ifndef CANOPY_SERVER_AGENT_BRING_UP_BOOTSTRAP_CHANNEL_H_
#define CANOPY_SERVER_AGENT_BRING_UP_BOOTSTRAP_CHANNEL_H_

#include <cstdint>

#include "common/message_stream.h"
#include "common/status.h"
#include "google/protobuf/message_lite.h"

namespace canopy::agent {

// Exchanges messages over two descriptors, which it does not own. Its functions
// block; they are used before the event loop runs, and also later. Messages
// above 64 MiB are rejected.
class BootstrapChannel {
 public:
  BootstrapChannel(int in_fd, int out_fd) : in_fd_(in_fd), out_fd_(out_fd) {}

  // Waits for the next message. Returns kErrLostConnection at the end of input,
  // and kErrUnpackFailure if the bytes are not a message of the type of
  // `message`.
  Status Read(google::protobuf::MessageLite* message);
  // Writes a message. Returns kErrLostConnection if the write fails.
  Status Write(const google::protobuf::MessageLite& message);

  int in_fd() const { return in_fd_; }
  int out_fd() const { return out_fd_; }

 private:
  static constexpr uint32_t kMaxMessage = 64u << 20;

  int in_fd_;
  int out_fd_;
  MessageReader reader_{kMaxMessage};
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_BRING_UP_BOOTSTRAP_CHANNEL_H_
