// core::MessageBody to the Body of protos/overlay.proto and back, in the
// protocol version of the peer.
#ifndef CANOPY_SERVER_OVERLAY_TRANSLATE_H_
#define CANOPY_SERVER_OVERLAY_TRANSLATE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "common/bytes.h"
#include "common/status.h"
#include "server/core/messages.h"
#include "server/overlay/compatibility.h"

namespace canopy::overlay {

// The serialised Body for a peer that speaks `version`: one allocation of the
// exact size. Empty: that version cannot express the message (version_5.h).
std::string EncodeBody(const core::MessageBody& body,
                       uint32_t version = kNewestVersion);

struct DecodedBody {
  core::MessageBody body;
  // A message of version 5 can stand for two of the newest; in order.
  std::optional<core::MessageBody> then;
};

// `data` comes from a peer, in any version: one that does not know this agent's
// encodes for the oldest. `version` is this agent's. Data fields of the result
// share the bytes of `data`. Refused (kErrUnpackFailure): truncated or
// otherwise malformed input, no or several kinds of body, kinds that `version`
// does not have, namespaces and keys over their limits, numbers that do not fit
// their fields, an unknown collective operation or verdict.
Result<DecodedBody> DecodeBody(const Bytes& data,
                               uint32_t version = kNewestVersion);

// Which of a link's queues a message takes; 0 is served first. Within a
// priority, messages of one source to one target keep their order.
inline constexpr uint32_t kPriorities = 3;
// `size`: of the encoded body. Large collective data, direct modex answers, job
// maps, publications and state answers have priority 1; process output and
// input 2; all else 0.
uint32_t PriorityOf(const core::MessageBody& body, size_t size);

// Turns a body that is too large to send into an error: its data is removed and
// its status becomes kErrOutOfResource. False: this kind has no data.
bool WithoutData(core::MessageBody* body);

// The same, by the receiver of a message that it has no room for: from the
// first piece of the encoded body. Nothing: this kind has no data, or what
// identifies the operation is longer than the piece.
std::optional<core::MessageBody> DecodeWithoutData(
    const Bytes& head, uint32_t version = kNewestVersion);

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_TRANSLATE_H_
