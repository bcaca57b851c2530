// Messages between agents about the input and output of jobs' processes. They
// are plain values; see server/core/messages.h.
#ifndef CANOPY_SERVER_CORE_MESSAGE_STREAMS_H_
#define CANOPY_SERVER_CORE_MESSAGE_STREAMS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"

namespace canopy::core {

// Output of a process, sent towards the root. Credit for the output is sent
// back.
struct OutputData {
  std::string nspace;
  Rank rank = 0;
  uint16_t channel = 0;  // pmix_iof_channel_t bit
  Bytes data;            // empty: the stream is closed
  // Total output of the job on the rank's node, including this data. 0:
  // unknown, unless `data` is empty.
  uint64_t end = 0;
};

struct OutputCredit {
  std::string nspace;
  uint64_t bytes = 0;
  uint64_t total = 0;   // all credit to the node so far; 0: unknown
  bool resend = false;  // output without credit must be sent again
};

// Input for processes, sent downwards. Credit for the input is sent back.
struct InputData {
  std::string nspace;
  std::vector<Rank> ranks;
  Bytes data;  // empty: end of file
  // Total input of the job in this input run, including this data. 0: unknown,
  // unless `data` is empty.
  uint64_t end = 0;
  // Number of the input run. Pushed input begins a run with each successor of
  // the agent that controls the job; later runs have greater numbers.
  uint64_t run = 0;
};

struct InputCredit {
  std::string nspace;
  uint64_t bytes = 0;
  uint64_t total = 0;   // consumed by the node's ranks so far; 0: unknown
  bool resend = false;  // input after `total` must be sent again
  uint64_t run = 0;     // the input run that is counted, as in InputData
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_MESSAGE_STREAMS_H_
