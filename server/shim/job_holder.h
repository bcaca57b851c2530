// canopy-shim itself: holds the processes of one job, with or without an agent.
#ifndef CANOPY_SERVER_SHIM_JOB_HOLDER_H_
#define CANOPY_SERVER_SHIM_JOB_HOLDER_H_

#include <sys/resource.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/event_loop.h"
#include "common/posix/unique_fd.h"
#include "server/shim/channel.h"
#include "server/shim/input_feed.h"
#include "server/shim/output_pump.h"
#include "server/shim/process_starter.h"
#include "server/shim/process_texts.h"
#include "server/shim/protocol.h"
#include "server/shim/socket_file.h"

namespace canopy::process {

// Loop thread only. Stops the loop when the job is over and no child is left.
class JobHolder {
 public:
  struct Sockets {
    UniqueFd agent;     // connected
    UniqueFd listener;  // bound to `file`
    SocketFile file;
  };

  // nofile: the limit on descriptors that processes get.
  JobHolder(EventLoop* loop, Sockets sockets, rlimit nofile);
  ~JobHolder();
  JobHolder(const JobHolder&) = delete;
  JobHolder& operator=(const JobHolder&) = delete;

  // Some child may have ended.
  void OnChildSignal();
  // The shim received a terminating signal.
  void OnTerminate();

 private:
  using Frame = FrameChannel::Frame;

  struct Peer {
    uint64_t id = 0;
    std::unique_ptr<FrameChannel> channel;
  };

  // Connections.
  Peer NewPeer(UniqueFd socket);
  void OnConnection();
  void OnFrame(uint64_t peer, Frame& frame);
  void OnClosed(uint64_t peer);
  void Greet(Frame& frame);
  void OnAgentLost();
  void SendWelcome();
  void SendConnections();
  void Send(FrameType type, const std::string& head);
  // Handles one frame; false when it breaks the protocol.
  bool Handle(Frame& frame);
  bool HandlePrepare(Frame& frame);
  void MakePump(uint64_t window);
  bool HandleRanks(Frame& frame);
  bool HandleCheck();
  bool HandleStart();
  bool HandleResume();
  bool HandleSignal(Frame& frame);
  bool HandleKill(Frame& frame);
  bool HandleInput(Frame& frame);
  bool HandleCredit(Frame& frame);
  bool HandleText(Frame& frame);
  bool HandleHold(Frame& frame);
  bool HandleOrphan(Frame& frame);
  bool HandleHoldMany(Frame& frame);
  bool HandleRelease(Frame& frame);

  // Processes.
  std::vector<LocalProcess*> Select(const std::vector<Rank>& ranks);
  void SignalProcess(const LocalProcess& process, int signal);
  void OnEnded(LocalProcess* process);
  void WaitForStreams(LocalProcess* process);
  void MakeReportable(LocalProcess* process);
  void FlushExits();
  void FlushInputDone();

  // The end.
  void BeginEnd();
  void ForceEnd();

  EventLoop* const loop_;
  Sockets sockets_;
  const rlimit nofile_;
  uint64_t next_peer_ = 1;
  Peer agent_;
  uint32_t version_ = kShimProtocolVersion;  // that the agent speaks
  Peer candidate_;                           // has not sent Hello yet
  bool flowing_ = false;                     // the agent wants output and exits
  EventLoop::TimerId orphan_timer_ = 0;
  uint64_t orphan_ms_ = 0;

  std::unique_ptr<ProcessStarter> starter_;
  bool checked_ = false;
  bool started_ = false;
  std::vector<LocalProcess> processes_;
  std::unordered_map<Rank, size_t> by_rank_;
  std::unordered_map<pid_t, size_t> by_pid_;
  std::unique_ptr<OutputPump> pump_;
  std::unique_ptr<ProcessTexts> texts_;
  std::unique_ptr<InputFeed> feed_;
  std::map<std::string, UniqueFd> held_;
  std::map<std::string, UniqueFd> connections_;  // of HoldMany

  std::vector<ExitedRank> exits_;  // to report when the round ends
  bool exits_scheduled_ = false;
  uint64_t input_taken_ = 0;     // in all
  uint64_t input_done_ = 0;      // in all
  uint64_t input_reported_ = 0;  // of that, reported to this agent
  bool input_scheduled_ = false;

  bool ending_ = false;
  bool forcing_ = false;
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_SHIM_JOB_HOLDER_H_
