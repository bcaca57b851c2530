// Finds a process's agent and its identity.
#ifndef CANOPY_CLIENT_SESSION_BOOTSTRAP_H_
#define CANOPY_CLIENT_SESSION_BOOTSTRAP_H_

#include <memory>
#include <string>

#include "client/channel/frame_socket.h"
#include "client/session/job_view.h"
#include "common/ids.h"
#include "common/shm/barrier_participant.h"
#include "common/shm/commit_writer.h"
#include "common/status.h"

namespace canopy::client {

// The environment variables that the launcher has set.
struct Environment {
  std::string socket;  // empty: the process was not launched
  ProcId claimed;
  std::string token;
  // Time for which the process, at its start, waits for an agent that is away.
  uint32_t reattach_ms = 0;
};

// Reads the process's environment. The result is empty if the environment names
// no agent or no namespace. Fails with kErrBadParam if the namespace or the
// rank is malformed.
Result<Environment> ReadEnvironment();

// A process that knows its identity, and its connection.
struct Bootstrap {
  ProcId self;
  ProcId server;
  std::unique_ptr<JobView> job;
  std::unique_ptr<FrameSocket> socket;  // null: there is no agent
  std::unique_ptr<shm::BarrierParticipant>
      barrier;  // null: fences use messages
  // Null: commits use messages. Refers to `barrier`.
  std::unique_ptr<shm::CommitWriter> commits;
  bool is_tool = false;  // the process was not launched
  // The variables by which the agent was reached, the time for which the
  // process tries to reattach to a successor, and the agent's incarnation.
  Environment environment;
  uint32_t reattach_ms = 0;
  uint64_t epoch = 0;
};

// Connects to the agent and waits for its welcome. Fails with kErrUnreach if
// there is no agent, with the agent's own status if it refuses, and with
// kErrHandshakeFailed if the answer is invalid.
Result<Bootstrap> ConnectToAgent(const Environment& environment);

// Returns a job that consists of this process alone and has no agent.
Bootstrap MakeAlone(ProcId self);
// Returns KIND.HOST.PID with rank 0, which is unique on this machine as long as
// this process runs.
ProcId NameAfterProcess(const std::string& kind);
// Returns a job of this process alone, named after host and pid.
Bootstrap MakeSingleton();
// Returns a server's job of one process, with the name `self`.
Bootstrap MakeServer(const ProcId& self);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_BOOTSTRAP_H_
