// core::MessageBody to the Body of protos/overlay.proto and back.
#ifndef CANOPY_SERVER_OVERLAY_TRANSLATE_H_
#define CANOPY_SERVER_OVERLAY_TRANSLATE_H_

#include <string>

#include "common/bytes.h"
#include "common/status.h"
#include "server/core/messages.h"

namespace canopy::overlay {

// The serialised Body: one allocation of the exact size.
std::string EncodeBody(const core::MessageBody& body);

// `data` comes from a peer. Data fields of the result share its bytes. Refused
// (kErrUnpackFailure): truncated or otherwise malformed input, no or several
// kinds of body, namespaces and keys over their limits, numbers that do not
// fit their fields, an unknown collective operation.
Result<core::MessageBody> DecodeBody(const Bytes& data);

// Which of a link's queues a message takes; 0 is served first. Within a
// priority, messages of one source to one target keep their order.
inline constexpr uint32_t kPriorities = 3;
// `size`: of the encoded body. Large collective data, direct modex answers and
// state answers have priority 1; process output and input 2; all else 0.
uint32_t PriorityOf(const core::MessageBody& body, size_t size);

// Turns a body that is too large to send into an error: its data is removed and
// its status becomes kErrOutOfResource. False: this kind has no data.
bool WithoutData(core::MessageBody* body);

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_TRANSLATE_H_
