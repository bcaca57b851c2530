// The beginning of a connection in OpenPMIx's protocol. Pure: it uses no
// sockets and has no state.
#ifndef CANOPY_SERVER_OPENPMIX_HANDSHAKE_H_
#define CANOPY_SERVER_OPENPMIX_HANDSHAKE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/ids.h"
#include "common/status.h"

namespace canopy::openpmix {

// The header of every message has 16 bytes in network byte order, except that a
// client's first message uses the client's own order.
inline constexpr size_t kHeaderSize = 16;
// Largest first message, in bytes.
inline constexpr uint32_t kMaxConnectPayload = 128 << 10;

// Tags of messages that do not belong to a request.
inline constexpr uint32_t kEventTag = 0;
inline constexpr uint32_t kHeartbeatTag = 1;
inline constexpr uint32_t kOutputTag = 2;
// The first tag that a client uses for its requests.
inline constexpr uint32_t kFirstRequestTag = 100;

struct MessageHeader {
  uint32_t tag = 0;
  uint32_t length = 0;  // length of the payload
};

// Parses the header at the beginning of `bytes`, which has at least kHeaderSize
// bytes.
MessageHeader ParseHeader(std::string_view bytes);
std::string MakeHeader(uint32_t tag, uint32_t length);

// Returns the payload length in the header of a first message; no value if it
// is not such a header.
std::optional<uint32_t> ParseConnectHeader(std::string_view bytes);

enum class PeerKind : uint8_t {
  kClient = 0,
  kNamelessTool = 3,  // requests an identity
  kTool = 4,          // brings its own identity
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
  std::optional<uint32_t> uid;  // as claimed; absent for plain clients
  // The identity that the client claims; absent if the client requests one.
  std::optional<ProcId> identity;
  std::string_view version;
  std::string_view codec;
  bool described = false;
  std::string_view store;
};

// Parses a first message. Returns kErrUnpackFailure for a malformed message,
// and kErrNotSupported for a kind that no longer exists. Data after the fields
// above is ignored.
Result<ConnectMessage> ParseConnect(std::string_view payload);

// Returns the uid in a "native" credential; no value for another kind of
// credential.
std::optional<uint32_t> CredentialUid(std::string_view credential);

// Returns true if the client expects the answer for tools.
bool IsTool(PeerKind kind);

// Return the answers that accept a client. A client is rejected only by closing
// its connection, because several versions wait forever after an error.
std::string MakeClientWelcome(uint32_t index);
// `assigned` is the identity for a client that requests one; null for other
// clients.
std::string MakeToolWelcome(const ProcId* assigned, const ProcId& server);

}  // namespace canopy::openpmix

#endif  // CANOPY_SERVER_OPENPMIX_HANDSHAKE_H_
