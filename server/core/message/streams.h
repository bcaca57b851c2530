// Messages between agents about the input and output of jobs' processes. Plain
// values, see server/core/messages.h.
#ifndef CANOPY_SERVER_CORE_MESSAGE_STREAMS_H_
#define CANOPY_SERVER_CORE_MESSAGE_STREAMS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"

namespace canopy::core {

// Output of a process, towards the root; credit for it on the way back.
struct OutputData {
  std::string nspace;
  Rank rank = 0;
  uint16_t channel = 0;  // pmix_iof_channel_t bit
  Bytes data;            // empty: the stream is closed
  // How much output the job has had on its node, this included. 0 with data:
  // not known.
  uint64_t end = 0;
};

struct OutputCredit {
  std::string nspace;
  uint64_t bytes = 0;
  uint64_t total = 0;   // of all credit to the node so far; 0: not known
  bool resend = false;  // what has no credit is to be sent again
};

// Input for processes, downwards; credit for it on the way back.
struct InputData {
  std::string nspace;
  std::vector<Rank> ranks;
  Bytes data;  // empty: end of file
  // How much input the job has had in this run, this included. 0 with data: not
  // known.
  uint64_t end = 0;
  // Input that is pushed begins a run with each successor of the agent that
  // controls the job: later ones are greater.
  uint64_t run = 0;
};

struct InputCredit {
  std::string nspace;
  uint64_t bytes = 0;
  uint64_t total = 0;   // taken by the node's ranks so far; 0: not known
  bool resend = false;  // what comes after `total` is to be sent again
  uint64_t run = 0;     // whose input is counted, as in InputData
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_MESSAGE_STREAMS_H_
