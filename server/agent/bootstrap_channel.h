// The agent's end of the bootstrap exchange (protos/bootstrap.proto).
#ifndef CANOPY_SERVER_AGENT_BOOTSTRAP_CHANNEL_H_
#define CANOPY_SERVER_AGENT_BOOTSTRAP_CHANNEL_H_

#include <string>

#include "common/status.h"
#include "google/protobuf/message_lite.h"

namespace canopy::agent {

// Length-prefixed messages over two descriptors, which it does not own.
// Blocking; used before and beside the event loop. Messages above 64 MiB are
// refused.
class BootstrapChannel {
 public:
  BootstrapChannel(int in_fd, int out_fd) : in_fd_(in_fd), out_fd_(out_fd) {}

  // Waits for the next message. kErrLostConnection at the end of input,
  // kErrUnpackFailure when it is not such a message.
  Status Read(google::protobuf::MessageLite* message);
  Status Write(const google::protobuf::MessageLite& message);

  int in_fd() const { return in_fd_; }
  int out_fd() const { return out_fd_; }

 private:
  bool ReadAll(char* data, size_t size);
  bool WriteAll(const char* data, size_t size);

  int in_fd_;
  int out_fd_;
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_BOOTSTRAP_CHANNEL_H_
