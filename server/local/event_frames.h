// The frames of events.
#ifndef CANOPY_SERVER_LOCAL_EVENT_FRAMES_H_
#define CANOPY_SERVER_LOCAL_EVENT_FRAMES_H_

#include <memory>

#include "common/bytes.h"
#include "server/core/step/client_actions.h"

namespace canopy::local {

// An event goes to many processes in turn, and its frame is the same for each:
// it is made once, and shared by the queues that it waits in. Not synchronised.
class EventFrames {
 public:
  Bytes Of(const std::shared_ptr<const core::ClientEvent>& event);

 private:
  std::shared_ptr<const core::ClientEvent> last_;
  Bytes frame_;  // of the last
};

}  // namespace canopy::local

#endif  // CANOPY_SERVER_LOCAL_EVENT_FRAMES_H_
