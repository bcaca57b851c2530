// A job's caller and the agents that control the job, one after the other: when
// an agent goes away, another one of its node may go on with its jobs.
#ifndef CANOPY_CLIENT_CLI_RUN_LINK_H_
#define CANOPY_CLIENT_CLI_RUN_LINK_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/run_connection.h"

namespace canopy::cli {

struct RunLinkOptions {
  // Tries once to reach the agent that may have come; null when there is none.
  // Without this function the job ends with its agent.
  std::function<std::unique_ptr<RunConnection>()> dial;
  // From where input can be sent again to the next agent. On the reading
  // thread.
  std::function<uint64_t()> input_begin;
  // For a person: what is waited for. On the reading thread.
  std::function<void(const std::string& text)> say;
};

// One thread reads, and tells what it has consumed; any thread writes.
class RunLink {
 public:
  RunLink(std::unique_ptr<RunConnection> connection, RunLinkOptions options);

  // Once, before anything else.
  void Launch(const control::v1::Launch& launch);
  // Kept for the next agent while there is none, and lost when the agent goes
  // away with it; an order to end the job is never lost.
  void Write(const control::v1::RunRequest& request);
  // The next event of the job. Waits, also for another agent, as long as the
  // former one said; `attached` when there is one. False: nothing comes any
  // more.
  bool Read(control::v1::RunEvent* event);
  // So much of the output that was read is where it belongs.
  void Consumed(uint64_t bytes);
  // After Read gave false: why.
  std::string WhyEnded() const { return why_; }

 private:
  using Clock = std::chrono::steady_clock;

  std::shared_ptr<RunConnection> Connection();
  void Acknowledge();
  // False for what is nobody else's business.
  bool Note(const control::v1::RunEvent& event);
  void NoteMap(const control::v1::JobMapped& mapped);
  bool Reconnect();
  // Tells the agent who we are. No value: it does not answer.
  std::optional<bool> Attach(RunConnection* connection);
  bool Adopt(std::shared_ptr<RunConnection> connection, bool known);

  const RunLinkOptions options_;
  std::mutex mutex_;
  std::shared_ptr<RunConnection> connection_;     // guarded by mutex_
  bool connected_ = true;                         // guarded by mutex_
  std::vector<control::v1::RunRequest> pending_;  // guarded by mutex_
  std::optional<control::v1::Kill> kill_;         // guarded by mutex_

  control::v1::RunRequest launch_;  // with a token when there is `dial`
  // Of the reading thread.
  bool mapped_ = false;
  bool ended_ = false;
  std::vector<uint32_t> node_of_;            // by rank
  std::vector<uint64_t> received_;           // bytes of output, by node
  std::deque<control::v1::RunEvent> early_;  // read while attaching
  uint64_t unacknowledged_ = 0;
  std::chrono::milliseconds grace_;    // of every agent that controls the job
  std::chrono::milliseconds away_{0};  // as this one said, which is replaced
  std::string why_;
};

}  // namespace canopy::cli

#endif  // CANOPY_CLIENT_CLI_RUN_LINK_H_
