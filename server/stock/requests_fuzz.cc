// Fuzz target: a peer's first message, its headers, and every command in every
// form. The first byte chooses the form of the rest.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "server/stock/handshake.h"
#include "server/stock/requests.h"

namespace canopy::stock {
namespace {

void FuzzGreeting(std::string_view bytes) {
  (void)ParseConnectHeader(bytes);
  const Result<ConnectMessage> message = ParseConnect(bytes);
  if (!message.ok()) return;
  (void)CredentialUid(message->credential);
  (void)TraitsOf(message->version, message->codec, message->described);
}

void FuzzRequest(uint8_t form, std::string_view bytes) {
  constexpr const char* kCodecs[] = {"v3", "v4", "v41", "v51", "v61"};
  constexpr const char* kVersions[] = {"3.2.3", "4.0.0", "4.2.4", "7.0.0"};
  const auto traits =
      TraitsOf(kVersions[form / 8 % 4], kCodecs[form % 5], form / 64 % 2 != 0);
  (void)ParseRequest({1, {"ns", 0}, *traits}, 101, bytes);
}

}  // namespace
}  // namespace canopy::stock

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1,
                               size - 1);
  if (data[0] >= 128) {
    canopy::stock::FuzzGreeting(bytes);
  } else {
    canopy::stock::FuzzRequest(data[0], bytes);
  }
  return 0;
}
