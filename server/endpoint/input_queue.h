// Keeps the core from calling back into an adapter that is not done with its
// own call.
#ifndef CANOPY_SERVER_ENDPOINT_INPUT_QUEUE_H_
#define CANOPY_SERVER_ENDPOINT_INPUT_QUEUE_H_

#include <utility>
#include <vector>

#include "server/core/step/input.h"
#include "server/ports/input_sink.h"

namespace canopy::endpoint {

// The sink of one adapter. A step of the core may end in a call of the
// adapter's ports, for instance with the answer to the input. While a Hold
// exists inputs wait; when the last Hold ends they are passed on in order and
// drained. Without one they are passed on at once. Loop thread only; `next`
// outlives it.
class InputQueue : public InputSink {
 public:
  explicit InputQueue(InputSink* next) : next_(next) {}
  InputQueue(const InputQueue&) = delete;
  InputQueue& operator=(const InputQueue&) = delete;

  // What a port call raises while inputs are being passed on (the commits that
  // precede a get) is passed on before the input of which that call is part.
  void OnInput(core::Input input) override;
  // Without effect while a Hold exists.
  void Drain() override {
    if (holds_ == 0) next_->Drain();
  }

  // Around work that raises inputs and must be complete before the core may
  // call back. Holds nest.
  class Hold {
   public:
    explicit Hold(InputQueue* queue) : queue_(queue) { ++queue_->holds_; }
    ~Hold() {
      if (--queue_->holds_ == 0) queue_->PassOn();
    }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    InputQueue* const queue_;
  };

 private:
  void PassOn();

  InputSink* const next_;
  std::vector<core::Input> waiting_;
  int holds_ = 0;
  bool passing_on_ = false;
};

}  // namespace canopy::endpoint

#endif  // CANOPY_SERVER_ENDPOINT_INPUT_QUEUE_H_
