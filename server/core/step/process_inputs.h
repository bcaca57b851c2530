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
  std::vector<ProgramNote> notes = {};  // `nodes` is left to the engine
  // Reserved for a job with JobSpec::rendezvous_host whose rank 0 is here.
  uint16_t port = 0;
};

struct LocalStarted {
  std::string nspace;
  uint32_t procs = 0;
  int status = 0;
  std::string text;
};

// Processes that were started here, or that a predecessor had started.
struct LocalProcesses {
  struct Process {
    Rank rank = 0;
    int pid = 0;  // 0: it is being started, and may connect before it is known
  };
  std::string nspace;
  std::vector<Process> processes;
};

struct LocalExits {
  std::string nspace;
  std::vector<ProcExit> exits;
  // No other process can be started in the place of these.
  bool final = false;
};

struct LocalOutput {
  std::string nspace;
  Rank rank = 0;
  uint16_t channel = 0;
  Bytes data;  // empty: closed
  // How much output the job has had on this node, this included.
  uint64_t end = 0;
};

struct LocalInputDone {
  std::string nspace;
  uint64_t bytes = 0;
  uint64_t total = 0;   // of all input so far; 0: not known
  bool resend = false;  // data after that may be lost
  uint64_t given = 0;   // to the shim, read or not; with `resend`
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_PROCESS_INPUTS_H_
