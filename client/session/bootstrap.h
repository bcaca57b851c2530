// How a process finds its agent and learns who it is.
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

// What the launcher left in the environment.
struct Environment {
  std::string socket;  // empty: nobody launched this process
  ProcId claimed;
  std::string token;
  // How long an agent that is away is awaited at the start.
  uint32_t reattach_ms = 0;
};

// Reads the process's environment. kErrBadParam when it names an agent but not
// who this process is to be.
Result<Environment> ReadEnvironment();

// A process that knows who it is.
struct Bootstrap {
  ProcId self;
  ProcId server;
  std::unique_ptr<JobView> job;
  std::unique_ptr<FrameSocket> socket;  // null: a singleton
  std::unique_ptr<shm::BarrierParticipant>
      barrier;  // null: fences use messages
  // Null: commits use messages. Refers to `barrier`.
  std::unique_ptr<shm::CommitWriter> commits;
  bool is_tool = false;  // nobody has launched it
  // How the agent was reached, how long to try to reattach when it is gone, and
  // its incarnation.
  Environment environment;
  uint32_t reattach_ms = 0;
  uint64_t epoch = 0;
};

// Connects to the agent and waits for its welcome. kErrUnreach when there is
// no agent, the agent's own status when it refuses, kErrHandshakeFailed when
// it does not make sense.
Result<Bootstrap> ConnectToAgent(const Environment& environment);

// A job of this process alone, which has no agent.
Bootstrap MakeAlone(ProcId self);
// KIND.HOST.PID, rank 0: what no other process of this machine is named now.
ProcId NameAfterProcess(const std::string& kind);
// A job of this process alone, named after host and pid.
Bootstrap MakeSingleton();
// The same for a server of that name.
Bootstrap MakeServer(const ProcId& self);

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_BOOTSTRAP_H_
