#include "server/agent/bootstrap_channel.h"

#include <arpa/inet.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace canopy::agent {
namespace {

constexpr uint32_t kMaxMessage = 64u << 20;

}  // namespace

bool BootstrapChannel::ReadAll(char* data, size_t size) {
  while (size > 0) {
    const ssize_t n = read(in_fd_, data, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

bool BootstrapChannel::WriteAll(const char* data, size_t size) {
  while (size > 0) {
    const ssize_t n = write(out_fd_, data, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

Status BootstrapChannel::Read(google::protobuf::MessageLite* message) {
  uint32_t prefix = 0;
  if (!ReadAll(reinterpret_cast<char*>(&prefix), sizeof prefix)) {
    return Status(kErrLostConnection, "the launcher closed its end");
  }
  const uint32_t size = ntohl(prefix);
  if (size > kMaxMessage) {
    return Status(kErrUnpackFailure, "not a bootstrap message");
  }
  std::string bytes(size, '\0');
  if (!ReadAll(bytes.data(), size)) {
    return Status(kErrLostConnection, "the launcher closed its end");
  }
  if (!message->ParseFromString(bytes)) {
    return Status(kErrUnpackFailure, "malformed bootstrap message");
  }
  return Status();
}

Status BootstrapChannel::Write(const google::protobuf::MessageLite& message) {
  const std::string body = message.SerializeAsString();
  const uint32_t prefix = htonl(static_cast<uint32_t>(body.size()));
  std::string bytes(sizeof prefix, '\0');
  std::memcpy(bytes.data(), &prefix, sizeof prefix);
  bytes += body;
  if (!WriteAll(bytes.data(), bytes.size())) {
    return Status(kErrLostConnection, "the launcher closed its end");
  }
  return Status();
}

}  // namespace canopy::agent
