#include "server/agent/bring_up/bootstrap_channel.h"

#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>

namespace canopy::agent {
namespace {

constexpr size_t kReadSize = 64 << 10;

Status Closed() {
  return Status(kErrLostConnection, "the launcher closed its end");
}

}  // namespace

Status BootstrapChannel::Read(google::protobuf::MessageLite* message) {
  std::string_view bytes;
  MessageReader::Next next;
  while ((next = reader_.Take(&bytes)) == MessageReader::Next::kIncomplete) {
    char buffer[kReadSize];
    const ssize_t n = read(in_fd_, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Closed();
    reader_.Append({buffer, static_cast<size_t>(n)});
  }
  if (next == MessageReader::Next::kTooLong) {
    return Status(kErrUnpackFailure, "not a bootstrap message");
  }
  if (!message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Status(kErrUnpackFailure, "malformed bootstrap message");
  }
  return Status();
}

Status BootstrapChannel::Write(const google::protobuf::MessageLite& message) {
  const std::string frame = FrameMessage(message);
  for (size_t at = 0; at < frame.size();) {
    const ssize_t n = write(out_fd_, frame.data() + at, frame.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Closed();
    at += static_cast<size_t>(n);
  }
  return Status();
}

}  // namespace canopy::agent
