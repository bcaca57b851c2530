// One job of this node as its agent sees it: the connection to the shim that
// holds the processes.
#ifndef CANOPY_SERVER_PROCESS_SHIM_JOB_H_
#define CANOPY_SERVER_PROCESS_SHIM_JOB_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/ids.h"
#include "common/job.h"
#include "common/posix/named_fd.h"
#include "server/core/step/process_actions.h"
#include "server/ports/process_text.h"
#include "server/process/output_credit.h"
#include "server/process/process_context.h"
#include "server/process/rank_reports.h"
#include "server/process/reserved_port.h"
#include "server/process/shim_fds.h"
#include "server/process/shim_input.h"
#include "server/process/shim_process.h"
#include "server/process/shim_states.h"
#include "server/process/shim_texts.h"
#include "server/process/shim_watch.h"
#include "server/shim/channel.h"
#include "server/shim/protocol.h"
#include "server/shim/socket_file.h"

namespace canopy::process {

// Implements the state machine of shim_states.h and the effects of its events.
// Loop thread only.
class ShimJob {
 public:
  // Called when the shim has ended after Forget, or was lost. The callback may
  // destroy the job.
  using OnGone = std::function<void(ShimJob* job)>;
  using OnFound = std::function<void(ShimJob* job, std::vector<NamedFd> held)>;

  // Creates a new job; Prepare starts its shim.
  ShimJob(const ProcessContext* context, const core::PrepareLocal& job,
          OnGone on_gone);
  // Connects to a recovered shim over its socket. Calls `on_found` when the
  // shim has identified its job, or OnGone if the shim does not.
  ShimJob(const ProcessContext* context, UniqueFd connection, SocketFile file,
          OnFound on_found, OnGone on_gone);
  ~ShimJob();
  ShimJob(const ShimJob&) = delete;
  ShimJob& operator=(const ShimJob&) = delete;

  // Starts the shim and sends it the job. The result is a LocalPrepared input.
  // If the job has no local ranks, there is no shim.
  void Prepare();
  // Starts the processes. `port` is that of core::StartLocal.
  void Start(uint16_t port);
  // Starts another process of a rank. Reports an exit if no process can be
  // started.
  void Restart(const core::RestartLocal& restart);
  void ResumeReports();
  void Signal(const core::SignalLocal& signal);
  void Kill(const core::KillLocal& kill);
  void Credit(const core::CreditOutput& credit);
  // Reports unacknowledged output again.
  void ResendOutput();
  // Sets how long, in milliseconds, the processes live without an agent.
  void SetOrphanTime(uint32_t ms);
  void Feed(const core::FeedInput& input);
  // Inserts a text into the output of a rank. `done` gets kErrNotSupported if
  // the shim is too old or lost.
  void PutText(ProcessText text, TextDone done);
  // These functions are those of ShimFds. If there is no shim, they have no
  // effect and return false.
  void Hold(const std::string& name, UniqueFd fd);
  bool HoldConnections(std::vector<NamedFd> connections);
  void ReleaseConnection(const std::string& name, bool at_once);
  // Ends the remaining processes. There are no more reports.
  void Forget();

  // Return a recovered shim's job. Valid from OnFound on.
  const std::string& nspace() const { return job_.job->nspace; }
  const core::PrepareLocal& job() const { return job_; }
  // Returns the ranks that the recovered shim has reported.
  const std::vector<RankState>& ranks() const { return ranks_; }
  ShimState state() const { return state_; }
  bool started() const { return state_ == ShimState::kStarted; }
  // Returns true if another agent serves the shim, which continues.
  bool replaced() const {
    return state_ == ShimState::kReplaced || state_ == ShimState::kLeft;
  }
  // Returns the pid of the shim if it is a child of this process, else 0.
  int child_pid() const { return process_.child_pid(); }

 private:
  // Advances the state. Returns false if the event has no effect in this state.
  bool Advance(ShimEvent event);
  void Connect(UniqueFd socket);
  void OnFrame(FrameChannel::Frame& frame);
  // Handles a frame that the state allows. Returns false if it is malformed.
  bool Handle(FrameChannel::Frame& frame);
  bool OnHeld(FrameChannel::Frame& frame);
  bool OnWelcome(FrameChannel::Frame& frame);
  void TakeRanks(std::vector<RankState> ranks);
  bool OnOutput(std::string_view payload);
  bool OnPrepared(std::string_view payload);
  bool OnStarted(std::string_view payload);
  bool OnRestarted(std::string_view payload);
  bool OnInputDone(std::string_view payload);
  bool OnResumed(std::string_view payload);
  ShimWatch::Events WatchEvents();
  void OnLost(const std::string& reason);
  void ReportLoss(const std::string& reason);
  void Gone();

  std::vector<Rank> LocalRanks() const;
  // Lets each stream of each local rank end once.
  void AllowEnds();
  Status ReservePort();
  void SendRanks();
  void ReportPrepared(const Status& status);
  void ReportNotStarted(const std::string& reason);
  void SendCredit();
  void SendInput();
  void InputDone(uint64_t bytes);

  const ProcessContext* const context_;
  core::PrepareLocal job_;
  const OnFound on_found_;
  const OnGone on_gone_;
  ShimState state_;
  bool reporting_ = true;  // false: a recovered shim before ResumeReports
  std::unique_ptr<FrameChannel> channel_;
  SocketFile file_;
  ShimProcess process_;
  std::vector<std::string> finding_keys_;  // index: application
  std::vector<RankState> ranks_;           // ranks of a recovered shim
  RankReports reports_;
  ShimFds fds_;
  ReservedPort port_;
  OutputCredit credit_;
  ShimInput input_;
  ShimTexts texts_;
  ShimWatch watch_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_SHIM_JOB_H_
