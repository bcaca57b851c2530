// A text that a local process wants among its output, from the endpoint that it
// asked to the adapter that has its output.
#ifndef CANOPY_SERVER_PORTS_PROCESS_TEXT_H_
#define CANOPY_SERVER_PORTS_PROCESS_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/ids.h"
#include "server/core/step/client_id.h"

namespace canopy {

struct ProcessText {
  // Most bytes of the pieces, of the key and value, and most pieces.
  static constexpr size_t kMaxBytes = size_t{1} << 20;
  static constexpr size_t kMaxKind = 1024;
  static constexpr size_t kMaxPieces = 64;

  struct Piece {
    bool is_error = false;  // to standard error, else to standard output
    std::string text;
  };

  ProcId proc;  // a rank of this node
  // Which request this is; `again`: a predecessor may have put it already, and
  // then it is not printed a second time.
  core::ClientId client = 0;
  uint32_t request = 0;
  bool again = false;
  // Of those with the same key and value the first is printed, and then how
  // many there were. Empty: each is printed.
  std::string key;
  std::string value;
  std::vector<Piece> pieces;  // printed all or not at all
};

// Puts a text, and calls `done` once with a PMIx status, perhaps at once. What
// succeeds is output from then on. kErrNotSupported when there is no way to
// such output. `done` is not called when this agent does not learn what became
// of it, because another one has taken its place.
using TextDone = std::function<void(int status)>;
using PutText = std::function<void(ProcessText text, TextDone done)>;

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_PROCESS_TEXT_H_
