// The messages of the agents' cores as fields of Body in protos/overlay.proto.
#ifndef CANOPY_SERVER_OVERLAY_BODY_WIRE_H_
#define CANOPY_SERVER_OVERLAY_BODY_WIRE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>

#include "common/describe.h"
#include "server/core/messages.h"
#include "server/overlay/message_wire/collectives.h"
#include "server/overlay/message_wire/events.h"
#include "server/overlay/message_wire/facts.h"
#include "server/overlay/message_wire/host.h"
#include "server/overlay/message_wire/jobs.h"
#include "server/overlay/message_wire/modex.h"
#include "server/overlay/message_wire/publishing.h"
#include "server/overlay/message_wire/streams.h"

namespace canopy::overlay {

// The position of T among the alternatives of a variant, counted from 1.
template <typename T, typename Variant>
struct NumberIn;
template <typename T, typename... Bodies>
struct NumberIn<T, std::variant<Bodies...>> {
  static constexpr uint32_t Value() {
    uint32_t number = 0;
    bool found = false;
    ((found = found || (++number, std::is_same_v<T, Bodies>)), ...);
    return number;
  }
};

// The field number of the message in the oneof of Body.
template <typename T>
inline constexpr uint32_t kBodyField =
    NumberIn<T, core::MessageBody::Variant>::Value();

// Serialises a Body whose only field is `message`, with the number `field`.
// Allocates memory once.
template <typename T>
std::string EncodeAs(uint32_t field, const T& message) {
  wire::Sizer sizer;
  sizer.Field(field, message);
  std::string out(sizer.size(), '\0');
  wire::Writer(out.data()).Field(field, message);
  return out;
}

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_BODY_WIRE_H_
