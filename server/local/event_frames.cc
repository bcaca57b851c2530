#include "server/local/event_frames.h"

#include "server/local/frames.h"

namespace canopy::local {

Bytes EventFrames::Of(const std::shared_ptr<const core::ClientEvent>& event) {
  if (event != last_) {
    last_ = event;
    frame_ = Bytes(MakeEvent(*event));
  }
  return frame_;
}

}  // namespace canopy::local
