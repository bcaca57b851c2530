#include "server/local/event_frames.h"

#include "server/local/frames.h"

namespace canopy::local {
namespace {

// But for the receiver. Equal numbers are no proof that all else is equal.
bool AreSame(const core::NotifyClient& a, const core::NotifyClient& b) {
  return a.id == b.id && a.status == b.status && a.source == b.source &&
         a.range == b.range && a.info.view() == b.info.view();
}

}  // namespace

Bytes EventFrames::Of(const core::NotifyClient& event) {
  if (frame_.empty() || !AreSame(event, last_)) {
    last_ = event;
    frame_ = Bytes(MakeEvent(event));
  }
  return frame_;
}

}  // namespace canopy::local
