// Converts core::MessageBody to the Body of protos/overlay.proto and back.
#ifndef CANOPY_SERVER_OVERLAY_TRANSLATE_H_
#define CANOPY_SERVER_OVERLAY_TRANSLATE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "common/bytes.h"
#include "common/status.h"
#include "server/core/messages.h"

namespace canopy::overlay {

// Serialises the Body with one allocation of the exact size.
std::string EncodeBody(const core::MessageBody& body);

// Data fields of the result share the bytes of `data`, which comes from a peer.
// Returns kErrUnpackFailure for malformed input, for no body or several, for
// unknown kinds, for namespaces and keys over their limits, numbers that do not
// fit their fields, and an unknown collective operation, verdict, claim or host
// operation.
Result<core::MessageBody> DecodeBody(const Bytes& data);

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
std::optional<core::MessageBody> DecodeWithoutData(const Bytes& head);

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_TRANSLATE_H_
