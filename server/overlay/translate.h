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

// Decodes a Body of a peer; data fields of the result share the bytes of
// `data`. Returns kErrUnpackFailure for malformed input, for no body or
// several, for unknown kinds, for namespaces and keys over their limits, for
// numbers that do not fit their fields, and for an unknown collective
// operation, verdict, claim or host operation.
Result<core::MessageBody> DecodeBody(const Bytes& data);

// The number of queues of a link; queue 0 is served first. Messages of one
// priority from one source to one target keep their order.
inline constexpr uint32_t kPriorities = 3;
// Returns the priority of a body whose encoded form has `size` bytes. Process
// output and input have priority 2. Collective data, direct modex replies, job
// maps, publications, facts, host replies and state replies have priority 1 if
// they are large. An exception is a message to the parent that reports an
// earlier release of a collective (kAlreadyReleased). Everything else has
// priority 0.
uint32_t PriorityOf(const core::MessageBody& body, size_t size);

// Turns a body that is too large to send into an error: removes its data and
// sets its status to kErrOutOfResource. Returns false if this kind has no data.
bool WithoutData(core::MessageBody* body);

// Decodes the first piece of the encoded body of a message that exceeds the
// limit, and turns the body into an error as WithoutData does. Returns no value
// if this kind has no data, or if the fields that identify the operation are
// longer than the piece.
std::optional<core::MessageBody> DecodeWithoutData(const Bytes& head);

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_TRANSLATE_H_
