// The texts that were sent to a job's shim and have not been answered.
#ifndef CANOPY_SERVER_PROCESS_SHIM_TEXTS_H_
#define CANOPY_SERVER_PROCESS_SHIM_TEXTS_H_

#include <cstddef>
#include <deque>
#include <optional>
#include <string_view>

#include "server/ports/process_text.h"
#include "server/shim/protocol.h"

namespace canopy::process {

// Loop thread only.
class ShimTexts {
 public:
  // Returns the request to send; its answer will be passed to `done`. Returns
  // no value if the text is too large or too many texts are unanswered; `done`
  // has then been called.
  std::optional<TextRequest> Put(ProcessText text, TextDone done);
  // Handles the shim's next answer. Returns false if it is malformed.
  bool OnDone(std::string_view payload);
  // Answers all pending texts with `status`. Called when the shim is lost.
  void FailAll(int status);

 private:
  struct Waiting {
    size_t bytes;
    TextDone done;
  };

  std::deque<Waiting> waiting_;
  size_t bytes_ = 0;
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_SHIM_TEXTS_H_
