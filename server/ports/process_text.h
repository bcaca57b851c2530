// A text that a local process adds to its output (PMIx_Log). Its endpoint
// passes it to the adapter that has the process's output.
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
  // Limits: bytes of the pieces, bytes of key and value, number of pieces.
  static constexpr size_t kMaxBytes = size_t{1} << 20;
  static constexpr size_t kMaxKind = 1024;
  static constexpr size_t kMaxPieces = 64;

  struct Piece {
    bool is_error = false;  // standard error, otherwise standard output
    std::string text;
  };

  ProcId proc;  // a rank of this node
  // The client and the number of its request. If `again` is set, a predecessor
  // may have printed the text, which is then not printed a second time.
  core::ClientId client = 0;
  uint32_t request = 0;
  bool again = false;
  // If several texts have the same key and value, only the first is printed,
  // and after a delay the number of the processes that have sent the others. If
  // the key or the value is empty, each text is printed.
  std::string key;
  std::string value;
  std::vector<Piece> pieces;  // all are printed, or none
};

// Adds a text to the output and calls `done` once with a PMIx status, possibly
// before PutText returns. On success the text is part of the output.
// kErrNotSupported: the process has no such output. `done` is not called if a
// successor replaces this agent before the result is known.
using TextDone = std::function<void(int status)>;
using PutText = std::function<void(ProcessText text, TextDone done)>;

}  // namespace canopy

#endif  // CANOPY_SERVER_PORTS_PROCESS_TEXT_H_
