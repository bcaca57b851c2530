// A launcher's link to the agent that controls its job; it reattaches to a
// successor when that agent is gone.
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
  // Tries once to connect to a successor; null when there is none. Without this
  // function the job ends with its agent.
  std::function<std::unique_ptr<RunConnection>()> dial;
  // Position from which input can be resent to a successor. On the reading
  // thread.
  std::function<uint64_t()> input_begin;
  // Reports to the user what is waited for. On the reading thread.
  std::function<void(const std::string& text)> say;
};

// One thread reads, and acknowledges what it has consumed; any thread writes.
class RunLink {
 public:
  RunLink(std::unique_ptr<RunConnection> connection, RunLinkOptions options);

  // Once, before anything else.
  void Launch(const control::v1::Launch& launch);
  // Queued for a successor while there is no agent, and lost with an agent that
  // dies; a kill request is never lost.
  void Write(const control::v1::RunRequest& request);
  // The next event of the job. After `requeued` the job was asked for anew, and
  // its events begin again. Waits, also for a successor as long as
  // announced; `reattached` when there is one. False: the link has ended.
  bool Read(control::v1::RunEvent* event);
  // Acknowledges output that was delivered.
  void Consumed(uint64_t bytes);
  // After Read gave false: why.
  std::string WhyEnded() const { return why_; }

 private:
  struct Received {
    std::vector<uint32_t> node_of;  // by rank
    std::vector<uint64_t> bytes;    // of output, by node
  };
  using Clock = std::chrono::steady_clock;

  std::shared_ptr<RunConnection> Connection();
  void Acknowledge();
  // False for events that are not for the caller.
  bool Note(const control::v1::RunEvent& event);
  void NoteQueued(const control::v1::JobQueued& queued);
  void AskAnew(const control::v1::JobRequeued& requeued);
  void NoteMap(const control::v1::JobMapped& mapped);
  void NoteOutput(const control::v1::Output& output);
  bool Reattach();
  // Identifies the launcher to the agent. No value: it does not answer.
  std::optional<bool> Reattach(RunConnection* connection);
  bool UseConnection(std::shared_ptr<RunConnection> connection, bool known);

  const RunLinkOptions options_;
  Mutex mutex_;
  std::shared_ptr<RunConnection> connection_ CANOPY_GUARDED_BY(mutex_);
  bool connected_ CANOPY_GUARDED_BY(mutex_) = true;
  std::vector<control::v1::RunRequest> pending_ CANOPY_GUARDED_BY(mutex_);
  std::optional<control::v1::Kill> kill_ CANOPY_GUARDED_BY(mutex_);

  control::v1::RunRequest launch_;  // with a token when there is `dial`
  // Of the reading thread.
  bool mapped_ = false;
  bool ended_ = false;
  // By namespace; that of the first job is empty.
  std::map<std::string, Received> received_;
  std::deque<control::v1::RunEvent> early_;  // read while attaching
  uint64_t unacknowledged_ = 0;
  std::chrono::milliseconds grace_;  // of every agent that controls the job
  std::chrono::milliseconds planned_downtime_{
      0};  // announced by the present agent
  std::string why_;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_RUN_LINK_H_
