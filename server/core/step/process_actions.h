// Actions of the core on this node's part of a job.
#ifndef CANOPY_SERVER_CORE_STEP_PROCESS_ACTIONS_H_
#define CANOPY_SERVER_CORE_STEP_PROCESS_ACTIONS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "common/job.h"

namespace canopy::core {

// Requests that programs and directories be checked and this node's ranks be
// made ready to start. The answer is LocalPrepared.
struct PrepareLocal {
  std::shared_ptr<const JobSpec> job;
  std::shared_ptr<const JobLayout> layout;
  bool explain = false;  // the notes on the programs are to be detailed
};

// Requests the start of the local ranks. The answer is LocalStarted; LocalExits
// follows when processes end.
struct StartLocal {
  std::string nspace;
  // Set on rank 0's node if the job has a JobSpec::rendezvous_host.
  uint16_t port = 0;
};

// Requests a new process for a local rank whose last process has ended. The end
// of the new process is reported like any other (LocalExits).
struct RestartLocal {
  std::string nspace;
  Rank rank = 0;
  uint32_t incarnation = 1;  // number of processes that the rank had before
};

struct SignalLocal {
  std::string nspace;
  int signal = 0;
  std::vector<Rank> ranks;  // empty: all local ranks
};

// Sends SIGTERM and SIGCONT now, and SIGKILL after grace_ms to the processes
// that remain.
struct KillLocal {
  std::string nspace;
  std::vector<Rank> ranks;
  uint32_t grace_ms = 0;
};

struct ForgetLocal {
  std::string nspace;
};

struct CreditOutput {
  std::string nspace;
  uint64_t bytes = 0;
  uint64_t total = 0;  // all credit so far; 0: unknown, add `bytes`
};

// Requests that all uncredited output be reported again, because some of it may
// be lost.
struct ResendOutput {
  std::string nspace;
};

// Requests that input be written to the ranks. The adapter drops duplicate data
// and data after a gap.
struct FeedInput {
  std::string nspace;
  std::vector<Rank> ranks;
  Bytes data;        // empty: end of file
  uint64_t end = 0;  // as in InputData
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_PROCESS_ACTIONS_H_
