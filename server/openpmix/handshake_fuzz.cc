// Fuzz target: a client's first message, and the headers after it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "server/openpmix/golden.h"
#include "server/openpmix/handshake.h"
#include "server/openpmix/peer_traits.h"
#include "tests/fuzz/fuzz.h"

namespace canopy::openpmix {
namespace {

void TryHeaders(std::string_view bytes) {
  if (bytes.size() < kHeaderSize) return;
  (void)ParseConnectHeader(bytes);
  const MessageHeader header = ParseHeader(bytes);
  const MessageHeader again =
      ParseHeader(MakeHeader(header.tag, header.length));
  if (again.tag != header.tag || again.length != header.length) abort();
}

void TryGreeting(std::string_view bytes) {
  const Result<ConnectMessage> message = ParseConnect(bytes);
  if (!message.ok()) return;
  (void)CredentialUid(message->credential);
  (void)TraitsOf(message->version, message->codec, message->described);
}

}  // namespace
}  // namespace canopy::openpmix

std::vector<std::string> canopy::fuzz::Seeds() {
  std::vector<std::string> seeds;
  for (const openpmix::Golden& golden : openpmix::ReadGolden("handshake.txt")) {
    seeds.push_back(golden.bytes);
  }
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  canopy::openpmix::TryHeaders(bytes);
  canopy::openpmix::TryGreeting(bytes);
  return 0;
}
