// How a connection of OpenPMIx's protocol begins. Pure: no socket, no state.
#ifndef CANOPY_SERVER_OPENPMIX_HANDSHAKE_H_
#define CANOPY_SERVER_OPENPMIX_HANDSHAKE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/ids.h"
#include "common/status.h"

namespace canopy::openpmix {

// Header of every message: 16 bytes, network order, but in the peer's own
// order for its first message.
inline constexpr size_t kHeaderSize = 16;
// Largest first message.
inline constexpr uint32_t kMaxConnectPayload = 128 << 10;

// Tags of messages that belong to no request.
inline constexpr uint32_t kEventTag = 0;
inline constexpr uint32_t kHeartbeatTag = 1;
inline constexpr uint32_t kOutputTag = 2;
// Requests are numbered from here on, by the client.
inline constexpr uint32_t kFirstRequestTag = 100;

struct MessageHeader {
  uint32_t tag = 0;
  uint32_t length = 0;  // of the payload
};

// `bytes` are at least kHeaderSize.
MessageHeader ParseHeader(std::string_view bytes);
std::string MakeHeader(uint32_t tag, uint32_t length);

// Payload length that the header of a first message announces; nothing when
// it is no such header.
std::optional<uint32_t> ParseConnectHeader(std::string_view bytes);

enum class PeerKind : uint8_t {
  kClient = 0,
  kNamelessTool = 3,  // wants an identity
  kTool = 4,          // brings its own
  kStartedTool = 5,   // was started by a server, as a rank of a job
  kNamelessLauncher = 6,
  kLauncher = 7,
  kStartedLauncher = 8,
  kSingleton = 9,
  kScheduler = 10,
};

// Views point into the payload.
struct ConnectMessage {
  std::string_view security;  // "native", "munge" or "none"
  std::string_view credential;
  PeerKind kind = PeerKind::kClient;
  std::optional<uint32_t> uid;  // as claimed; of all but plain clients
  // As claimed; absent when the peer wants one.
  std::optional<ProcId> identity;
  std::string_view version;
  std::string_view codec;
  bool described = false;
  std::string_view store;
};

// kErrUnpackFailure: malformed; kErrNotSupported: a kind that does not exist
// any more. What follows the fields above is not read.
Result<ConnectMessage> ParseConnect(std::string_view payload);

// The uid in a "native" credential; nothing when it is none.
std::optional<uint32_t> CredentialUid(std::string_view credential);

// True when the peer expects the answer for tools.
bool IsTool(PeerKind kind);

// Answers that accept. There is no refusal but to close: several versions wait
// for ever after an error.
std::string MakeClientWelcome(uint32_t index);
// `assigned`: for those that want an identity.
std::string MakeToolWelcome(const ProcId* assigned, const ProcId& server);

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_HANDSHAKE_H_
