#include "server/endpoint/input_queue.h"

namespace canopy::endpoint {

void InputQueue::OnInput(core::Input input) {
  if (holds_ == 0) return next_->OnInput(std::move(input));
  waiting_.push_back(std::move(input));
}

// By index, because a Hold of a port call may add inputs meanwhile. They are
// passed on here, behind those that are waiting already.
void InputQueue::PassOn() {
  if (waiting_.empty() || passing_on_) return;
  passing_on_ = true;
  for (size_t i = 0; i < waiting_.size(); ++i) {
    next_->OnInput(std::move(waiting_[i]));
  }
  waiting_.clear();
  passing_on_ = false;
  // So that the turn of a connection bounds the work of the core as well.
  next_->Drain();
}

}  // namespace canopy::endpoint
