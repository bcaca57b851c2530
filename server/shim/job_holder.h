// The main part of canopy-shim: holds the processes of one job, with or without
// an agent.
#ifndef CANOPY_SERVER_SHIM_JOB_HOLDER_H_
#define CANOPY_SERVER_SHIM_JOB_HOLDER_H_

#include <sys/resource.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/event_loop.h"
#include "common/ids.h"
#include "common/posix/unique_fd.h"
#include "server/shim/agent_link.h"
#include "server/shim/agent_reports.h"
#include "server/shim/channel.h"
#include "server/shim/held_fds.h"
#include "server/shim/holder_states.h"
#include "server/shim/input_feed.h"
#include "server/shim/output_pump.h"
#include "server/shim/process_starter.h"
#include "server/shim/process_table.h"
#include "server/shim/process_texts.h"
#include "server/shim/socket_file.h"

namespace canopy::process {

// Implements the state machine of holder_states.h and the effects of its
// events. Stops the loop when the job is over and no child process remains.
// Loop thread only.
class JobHolder {
 public:
  struct Sockets {
    UniqueFd agent;     // connected
    UniqueFd listener;  // bound to `file`
    SocketFile file;
  };

  // The work of a shim in a container, whose agent has neither the container's
  // files and environment nor its streams. Empty functions leave everything to
  // the agent.
  struct Hooks {
    // Changes the job before it is checked.
    std::function<void(PrepareJob* job)> adapt;
    // Takes output that is not sent to the agent, each byte once. The receiver
    // calls OnOutputTaken when it has room again.
    std::function<void(Rank rank, uint16_t channel, Bytes data)> output;
    // Called at the end of each process.
    std::function<void(Rank rank, int wait_status)> ended;
    // Called when the agent is lost.
    std::function<void()> lost;
  };

  // `nofile` is the limit on open files for the job's processes. Without a
  // valid listener, the shim serves no other agent.
  JobHolder(EventLoop* loop, Sockets sockets, rlimit nofile, Hooks hooks = {});
  JobHolder(const JobHolder&) = delete;
  JobHolder& operator=(const JobHolder&) = delete;

  // Reaps children after a SIGCHLD.
  void OnChildSignal();
  // Sends a signal to all processes, or ends if there are none yet.
  void ForwardSignal(int number);
  // Records that the receiver of Hooks::output has disposed of `bytes` bytes.
  void OnOutputTaken(uint64_t bytes);
  // Handles a terminating signal that the shim got.
  void OnTerminate() { Advance(HolderEvent::kTerminated); }

  HolderState state() const { return state_; }

 private:
  using Frame = FrameChannel::Frame;

  void Advance(HolderEvent event);
  // The actions on entering kEnding and kForcing.
  void BeginEnd();
  void ForceEnd();

  void OnNewAgent();
  void OnAgentLost();
  void SendWelcome();

  // Handles one frame. Returns false if it breaks the protocol.
  bool OnFrame(Frame& frame);
  // Handles a frame that the state allows. Returns false if it breaks the
  // protocol.
  bool Handle(Frame& frame);
  bool HandlePrepare(Frame& frame);
  void MakePump(uint64_t window);
  void EmitOutput(Rank rank, uint16_t channel, Bytes data);
  bool MergesStderr(Rank rank) const;
  bool HandleRanks(Frame& frame);
  void HandleCheck();
  bool HandleStart(Frame& frame);
  bool HandleRestart(Frame& frame);
  void HandleResume();
  bool HandleSignal(Frame& frame);
  bool HandleKill(Frame& frame);
  bool HandleInput(Frame& frame);
  bool HandleCredit(Frame& frame);
  bool HandleText(Frame& frame);
  bool HandleHold(Frame& frame);
  bool HandleHoldMany(Frame& frame);
  bool HandleRelease(Frame& frame);
  bool HandleOrphan(Frame& frame);

  void OnEnded(LocalProcess* process);
  void WaitForStreams(LocalProcess* process);
  void MakeReportable(LocalProcess* process);

  EventLoop* const loop_;
  SocketFile file_;
  const rlimit nofile_;
  const Hooks hooks_;
  // Positions in the job's output: the end of what the pump has emitted, which
  // it may repeat, and the end of what Hooks::output has received.
  uint64_t emitted_ = 0;
  uint64_t taken_ = 0;
  HolderState state_ = HolderState::kEmpty;
  AgentLink agent_;
  AgentReports reports_;
  HeldFds held_;
  ProcessTable processes_;
  EventLoop::TimerId orphan_timer_ = 0;
  uint64_t orphan_ms_ = 0;
  std::vector<std::string> variables_;  // variables of Start
  // The following members are set from kDescribed on. Those that move data are
  // released in kEnding.
  std::unique_ptr<ProcessStarter> starter_;
  std::unique_ptr<OutputPump> pump_;
  std::unique_ptr<ProcessTexts> texts_;
  std::unique_ptr<InputFeed> feed_;
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_JOB_HOLDER_H_
