// Inputs of the core about this node's part of a job.
#ifndef CANOPY_SERVER_CORE_STEP_PROCESS_INPUTS_H_
#define CANOPY_SERVER_CORE_STEP_PROCESS_INPUTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "server/core/messages.h"

namespace canopy::core {

struct LocalPrepared {
  std::string nspace;
  int status = 0;
  std::string text;
  std::vector<ProgramNote> notes = {};  // `nodes` is set by the engine
  // Reserved port, if the job has a JobSpec::rendezvous_host and its rank 0 is
  // on this node.
  uint16_t port = 0;
};

struct LocalStarted {
  std::string nspace;
  uint32_t procs = 0;
  int status = 0;
  std::string text;
};

// Processes that were started on this node, by this agent or a predecessor.
struct LocalProcesses {
  struct Process {
    Rank rank = 0;
    // 0: the process is being started, and may connect before its PID is known
    int pid = 0;
  };
  std::string nspace;
  std::vector<Process> processes;
};

struct LocalExits {
  std::string nspace;
  std::vector<ProcExit> exits;
  // True if no other process can be started for these ranks.
  bool final = false;
};

struct LocalOutput {
  std::string nspace;
  Rank rank = 0;
  uint16_t channel = 0;
  Bytes data;  // empty: the stream is closed
  // Total output of the job on this node, including this data.
  uint64_t end = 0;
};

struct LocalInputDone {
  std::string nspace;
  uint64_t bytes = 0;
  uint64_t total = 0;   // all input taken so far; 0: unknown
  bool resend = false;  // input after `total` may be lost
  // number of bytes passed to the shim, read or not; set with `resend`
  uint64_t given = 0;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_PROCESS_INPUTS_H_
