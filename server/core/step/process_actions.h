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

// Check programs and directories, get ready to start this node's ranks;
// answered by LocalPrepared.
struct PrepareLocal {
  std::shared_ptr<const JobSpec> job;
  std::shared_ptr<const JobLayout> layout;
  bool explain = false;  // answer all that is found out about the programs
};

// Answered by LocalStarted, then LocalExits.
struct StartLocal {
  std::string nspace;
  // On rank 0's node, of a job with JobSpec::rendezvous_host.
  uint16_t port = 0;
};

// Another process for a local rank, whose last one has ended. Its end is
// reported like any other (LocalExits).
struct RestartLocal {
  std::string nspace;
  Rank rank = 0;
  uint32_t incarnation = 1;  // how many processes the rank had before it
};

struct SignalLocal {
  std::string nspace;
  int signal = 0;
  std::vector<Rank> ranks;  // empty: all local
};

// SIGTERM and SIGCONT now, SIGKILL after grace_ms to those that remain.
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
  uint64_t total = 0;  // of all credit so far; 0: not known, add `bytes`
};

// Report all uncredited output again, as some may be lost.
struct ResendOutput {
  std::string nspace;
};

// Duplicate data is left out, and so is data after a gap.
struct FeedInput {
  std::string nspace;
  std::vector<Rank> ranks;
  Bytes data;        // empty: end of file
  uint64_t end = 0;  // as in InputData
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_STEP_PROCESS_ACTIONS_H_
