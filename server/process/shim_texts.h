// Texts on their way to a job's shim, until it has taken them or refused.
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
  // The request to send, whose answer will be `done`'s; null when `done` was
  // called, since the text is too large or too much is on its way.
  std::optional<TextRequest> Put(ProcessText text, TextDone done);
  // The shim's next answer. False when it makes no sense.
  bool OnDone(std::string_view payload);
  // No answer will come: all get that status.
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
