// A launcher's link to the agent that controls its job. When that agent is
// lost, the link reattaches to its successor.
#ifndef CANOPY_CLIENT_CLI_RUN_RUN_LINK_H_
#define CANOPY_CLIENT_CLI_RUN_RUN_LINK_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/control/run_connection.h"
#include "common/mutex.h"

namespace canopy::cli {

struct RunLinkOptions {
  // Tries once to connect to a successor; returns null if there is none. If
  // this function is empty, the job ends with its agent.
  std::function<std::unique_ptr<RunConnection>()> dial;
  // Connects to the leader, which is another agent now; returns null if there
  // is no way to it from here. Called on the reading thread. If this function
  // is empty, a queued job stays at its agent.
  std::function<std::unique_ptr<RunConnection>()> dial_leader;
  // Returns the position from which input can be resent to a successor. Called
  // on the reading thread.
  std::function<uint64_t()> input_begin;
  // Reports to the user what the link waits for. Called on the reading thread.
  std::function<void(const std::string& text)> say;
};

// One thread reads, and acknowledges the output that it has consumed; any
// thread writes.
class RunLink {
 public:
  RunLink(std::unique_ptr<RunConnection> connection, RunLinkOptions options);

  // Sends the launch. Called once, before all other functions.
  void Launch(const control::v1::Launch& launch);
  // Sends a request. Requests are queued for a successor while there is no
  // agent, and are lost with an agent that dies; a kill request is never lost.
  void Write(const control::v1::RunRequest& request);
  // Waits for the next event of the job. After `requeued` the link has
  // requested the job anew and its events begin again. Waits for a successor
  // for as long as the agent announced; the event `reattached` reports the
  // successor. Returns false when the link has ended.
  bool Read(control::v1::RunEvent* event);
  // Acknowledges output that was delivered.
  void Consumed(uint64_t bytes);
  // Returns the reason why the link has ended. Valid after Read returned false.
  std::string WhyEnded() const { return why_; }

 private:
  struct Received {
    std::vector<uint32_t> node_of;  // index: rank
    std::vector<uint64_t> bytes;    // bytes of output; index: node
  };
  using Clock = std::chrono::steady_clock;

  std::shared_ptr<RunConnection> Connection();
  void Acknowledge();
  // Records the data of an event that the link needs. Returns false for an
  // event that is not for the caller.
  bool Note(const control::v1::RunEvent& event);
  void NoteQueued(const control::v1::JobQueued& queued);
  void AskAnew(const control::v1::JobRequeued& requeued);
  void MoveToLeader();
  void NoteMap(const control::v1::JobMapped& mapped);
  void NoteOutput(const control::v1::Output& output);
  bool Reattach();
  // Identifies the launcher to the agent. Returns whether the agent knows the
  // job, or no value if it does not answer.
  std::optional<bool> Reattach(RunConnection* connection);
  bool UseConnection(std::shared_ptr<RunConnection> connection, bool known);

  const RunLinkOptions options_;
  Mutex mutex_;
  std::shared_ptr<RunConnection> connection_ CANOPY_GUARDED_BY(mutex_);
  bool connected_ CANOPY_GUARDED_BY(mutex_) = true;
  std::vector<control::v1::RunRequest> pending_ CANOPY_GUARDED_BY(mutex_);
  std::optional<control::v1::Kill> kill_ CANOPY_GUARDED_BY(mutex_);

  control::v1::RunRequest launch_;  // has a token if `dial` is set
  // The following members belong to the reading thread.
  bool mapped_ = false;
  bool ended_ = false;
  // The output that was received, by namespace; the first job has the empty
  // key.
  std::map<std::string, Received> received_;
  std::deque<control::v1::RunEvent> early_;  // read while reattaching
  uint64_t unacknowledged_ = 0;
  // Restart grace of the agents that control the job.
  std::chrono::milliseconds grace_;
  std::chrono::milliseconds planned_downtime_{
      0};  // announced by the current agent
  std::string why_;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_RUN_LINK_H_
