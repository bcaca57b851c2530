// The frames of events.
#ifndef CANOPY_SERVER_LOCAL_EVENT_FRAMES_H_
#define CANOPY_SERVER_LOCAL_EVENT_FRAMES_H_

#include <memory>

#include "common/bytes.h"
#include "server/core/step/client_actions.h"

namespace canopy::local {

// An event is sent to many processes with the same frame, which is encoded once
// and shared by their queues. Used by one thread.
class EventFrames {
 public:
  // Returns the frame of the event.
  Bytes Of(const std::shared_ptr<const core::ClientEvent>& event);

 private:
  std::shared_ptr<const core::ClientEvent> last_;
  Bytes frame_;  // frame of last_
};

}  // namespace canopy::local

#endif  // CANOPY_SERVER_LOCAL_EVENT_FRAMES_H_
