// Imitates an agent for agent_group_test. The first argument selects its
// behaviour in the bootstrap exchange.
#include <arpa/inet.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "client/cli/base/file_util.h"
#include "protos/bootstrap.pb.h"

namespace canopy::cli {
namespace {

bool ReadExactly(char* data, size_t size) {
  while (size > 0) {
    const ssize_t n = read(STDIN_FILENO, data, size);
    if (n <= 0) return false;
    data += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

bool Receive(google::protobuf::MessageLite* message) {
  uint32_t prefix = 0;
  if (!ReadExactly(reinterpret_cast<char*>(&prefix), sizeof prefix)) {
    return false;
  }
  std::string body(ntohl(prefix), '\0');
  return ReadExactly(body.data(), body.size()) &&
         message->ParseFromString(body);
}

void Send(const google::protobuf::MessageLite& message) {
  const std::string body = message.SerializeAsString();
  const uint32_t prefix = htonl(static_cast<uint32_t>(body.size()));
  std::string frame(reinterpret_cast<const char*>(&prefix), sizeof prefix);
  // Writes the frame in two parts, as a slow remote-launch command may deliver
  // it.
  (void)WriteAll(STDOUT_FILENO, frame.substr(0, 3));
  (void)WriteAll(STDOUT_FILENO, frame.substr(3) + body);
}

void WaitForEndOfInput() {
  char ignored[64];
  while (read(STDIN_FILENO, ignored, sizeof ignored) > 0) {
  }
}

int Play(const std::string& role) {
  bootstrap::v1::Config config;
  if (!Receive(&config)) return 2;
  if (role == "dies") {
    std::fputs("first words\nlast words\n", stderr);
    return 1;
  }
  if (role == "garbage") {
    (void)WriteAll(STDOUT_FILENO, "Welcome to this machine!\n");
    WaitForEndOfInput();
    return 0;
  }
  if (role == "silent") {
    WaitForEndOfInput();
    return 0;
  }
  bootstrap::v1::Hello hello;
  hello.mutable_node()->set_name(config.node_name());
  hello.mutable_node()->set_address(role);
  if (role == "refuses") hello.set_error("no room here");
  Send(hello);
  bootstrap::v1::Members members;
  if (!Receive(&members)) return 1;
  if (members.has_config()) {
    config = members.config();
    Send(hello);
    if (!Receive(&members)) return 1;
  }
  if (members.nodes_size() != config.member_names_size()) return 3;
  bootstrap::v1::State state;
  if (role == "unlinked") state.set_error("cannot reach the others");
  Send(state);
  state.set_ready(true);
  Send(state);
  WaitForEndOfInput();
  return 0;
}

}  // namespace
}  // namespace canopy::cli

int main(int argc, char** argv) {
  return argc > 1 ? canopy::cli::Play(argv[1]) : 2;
}
