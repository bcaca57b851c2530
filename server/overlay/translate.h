// Converts core::MessageBody to the Body of protos/overlay.proto and back, in
// the protocol version of the peer.
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

// Serialises the Body for a peer that speaks `version`, with one allocation of
// the exact size. Empty if that version cannot express the message
// (version_5.h).
std::string EncodeBody(const core::MessageBody& body,
                       uint32_t version = kNewestVersion);

struct DecodedBody {
  core::MessageBody body;
  // One message of version 5 can stand for two of the newest; this is the
  // second.
  std::optional<core::MessageBody> then;
};

// `data` comes from a peer and may be in any version, because an agent that
// does not know this one's version encodes for the oldest. `version` is this
// agent's. Data fields of the result share the bytes of `data`. Returns
// kErrUnpackFailure for malformed input, for no body or several, for kinds that
// `version` does not have, for namespaces and keys over their limits, numbers
// that do not fit their fields, and an unknown collective operation, verdict,
// claim or host operation.
Result<DecodedBody> DecodeBody(const Bytes& data,
                               uint32_t version = kNewestVersion);

// Number of queues of a link; queue 0 is served first. Within a priority,
// messages from one source to one target keep their order.
inline constexpr uint32_t kPriorities = 3;
// `size` is that of the encoded body. Process output and input have priority 2.
// Large collective data, direct modex replies, job maps, publications, facts,
// host replies and state replies have priority 1; everything else has 0.
uint32_t PriorityOf(const core::MessageBody& body, size_t size);

// Turns a body that is too large to send into an error: removes its data and
// sets its status to kErrOutOfResource. Returns false if this kind has no data.
bool WithoutData(core::MessageBody* body);

// The same at the receiver of a message that exceeds the limit: decodes the
// first piece of the encoded body. Returns nothing if this kind has no data, or
// if the fields that identify the operation are longer than the piece.
std::optional<core::MessageBody> DecodeWithoutData(
    const Bytes& head, uint32_t version = kNewestVersion);

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_TRANSLATE_H_
