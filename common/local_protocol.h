// Frames between libpmix and its agent on the node's Unix socket: a header and
// a payload, which is a struct of common/local (common/describe.h encodes it).
// docs/wire_protocol.md describes the life of a connection.
#ifndef CANOPY_COMMON_LOCAL_PROTOCOL_H_
#define CANOPY_COMMON_LOCAL_PROTOCOL_H_

#include <cstdint>

namespace canopy::local {

// An agent refuses clients of another version.
inline constexpr uint32_t kProtocolVersion = 7;

// The environment of a process started by an agent, in addition to
// PMIX_NAMESPACE and PMIX_RANK.
inline constexpr char kEnvSocket[] = "CANOPY_SOCKET";  // path of the socket
inline constexpr char kEnvToken[] = "CANOPY_TOKEN";    // 32 hex digits
// Milliseconds for which a starting process waits for a successor if its agent
// is away. If absent, the process does not wait.
inline constexpr char kEnvReattach[] = "CANOPY_REATTACH_MS";

// The largest payload that either side accepts.
inline constexpr uint32_t kMaxPayload = 256u << 20;
// The largest payload before the reply to kHello.
inline constexpr uint32_t kMaxHelloPayload = 4096;

// The comments name the payload. The agent answers the frames marked * with a
// kReply of the same tag.
enum class FrameType : uint16_t {
  // Client to agent.
  kHello = 1,           // * Hello. The reply's payload is a Welcome
  kCommit = 2,          //   Commit. With tag 0 there is no answer
  kCollective = 3,      // * Collective
  kGet = 4,             // * Get
  kAbort = 5,           // * Abort
  kFinalize = 6,        // * empty
  kEventsWanted = 7,    // * Subscription
  kEventsUnwanted = 8,  //   Subscription
  kNotify = 9,          // * Notify
  // Empty payload. All ranks have arrived at the barrier, and the agent has
  // work to do before they may leave.
  kBarrierFull = 11,
  kReattach = 12,  //   Reattach
  // Empty payload. The commit mailbox holds data that the agent has requested.
  kCommitted = 13,
  kPublish = 14,    // * Publish
  kLookup = 15,     // * Keys
  kUnpublish = 16,  // * Keys
  kSpawn = 17,      // * Spawn
  kGroupCall = 19,  // * GroupCall
  kQuery = 20,      // * Query
  kHostCall = 21,   // * HostCall
  // * Hello, in place of kHello. The client is a tool, and the kernel reports
  // that its user is the agent's user.
  kToolHello = 22,
  kIgnored = 23,  //   Ignored
  // Agent to client.
  kReply = 64,     // Reply
  kEvent = 65,     // Event
  kSegment = 66,   // Segment
  kHandover = 67,  // Handover
};

struct FrameHeader {
  uint32_t length = 0;  // of the payload
  uint16_t type = 0;
  uint16_t flags = 0;  // 0
  // Chosen by the client; 0 in frames that answer no request. No two requests
  // of one rank have the same tag, also on different connections: a reattached
  // client resends a request with the same tag, by which the agents recognise a
  // request that they may have executed already.
  uint64_t tag = 0;
};
static_assert(sizeof(FrameHeader) == 16);

}  // namespace canopy::local

#endif  // CANOPY_COMMON_LOCAL_PROTOCOL_H_
