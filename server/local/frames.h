// Codec of the payloads of common/local_protocol.h, agent's side. Pure: it uses
// no sockets and has no state.
#ifndef CANOPY_SERVER_LOCAL_FRAMES_H_
#define CANOPY_SERVER_LOCAL_FRAMES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/ids.h"
#include "common/local_protocol.h"
#include "common/status.h"
#include "server/core/step/client_actions.h"
#include "server/core/step/client_id.h"
#include "server/core/step/input.h"

namespace canopy::local {

struct Hello {
  uint64_t version = 0;
  ProcId claimed;
  std::string token;
  std::string library;
};

// Returns kErrUnpackFailure if it is malformed.
Result<Hello> ParseHello(std::string_view payload);

struct ToolHello {
  uint64_t version = 0;
  ProcId claimed;  // without a namespace: the agent chooses a name
};

// Returns kErrUnpackFailure if it is malformed.
Result<ToolHello> ParseToolHello(std::string_view payload);

// A directive that the client's library has not honoured.
struct IgnoredDirective {
  std::string function;
  std::string key;
};

// kErrUnpackFailure when it is malformed.
Result<IgnoredDirective> ParseIgnored(std::string_view payload);

// Returns the core's input for one frame of a client after its Hello. `self` is
// the client's identity. Fails with kErrNotSupported for an unknown type, and
// with kErrUnpackFailure if the frame is malformed. Copies bytes out of
// `payload`.
Result<core::Input> ParseRequest(core::ClientId client, const ProcId& self,
                                 const FrameHeader& header,
                                 std::string_view payload);

// Returns the data of a commit frame's payload, or kErrUnpackFailure if it is
// malformed.
Result<std::vector<core::ScopedData>> ParseCommitted(std::string_view payload);

// The Make functions return whole frames with their headers. This is the
// barrier in the answer to a Hello; size 0: there is none.
struct BarrierOffer {
  uint64_t size = 0;
  uint32_t index = 0;
};
// For clients of version 3 and later: parameters for reattaching to this
// agent's successor.
struct ReattachOffer {
  uint32_t reattach_ms = 0;
  uint64_t epoch = 0;  // 0: the client is older
};
// For clients of version 5 and later: the commit mailboxes.
struct MailboxOffer {
  bool understood = false;
  uint64_t size = 0;  // 0: there are none
};
std::string MakeHelloReply(uint64_t tag, const ProcId& self,
                           const ProcId& server, uint64_t segment_size,
                           const BarrierOffer& barrier = {},
                           const ReattachOffer& reattach = {},
                           const MailboxOffer& mailboxes = {});
std::string MakeReply(uint64_t tag, int status, std::string_view payload);
// Like MakeReply, without the last `payload_size` bytes, which the caller sends
// directly after it.
std::string MakeReplyHead(uint64_t tag, int status, uint64_t payload_size);
std::string MakeEvent(const core::ClientEvent& event);
std::string MakeHandover(uint32_t reattach_ms);
std::string MakeSegment(const std::string& nspace, uint64_t segment_size);
// For a client that cannot receive descriptors: contains the file's content, in
// the form that local_protocol.h describes.
std::string MakeSegmentCopy(const std::string& nspace, uint64_t segment_size,
                            std::string_view content);

}  // namespace canopy::local

#endif  // CANOPY_SERVER_LOCAL_FRAMES_H_
