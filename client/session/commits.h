// The data that this process puts and commits, and the mailbox in which its
// agent finds commits.
#ifndef CANOPY_CLIENT_SESSION_COMMITS_H_
#define CANOPY_CLIENT_SESSION_COMMITS_H_

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "client/session/staged_puts.h"
#include "common/mutex.h"
#include "common/shm/commit_writer.h"

namespace canopy::client {

// Threads: staged(), Note and TakeNoted may be called from any thread. A commit
// holds the mutex from taking the staged data until the mailbox has it. A
// reattach also holds it while it sends all commits to a successor. Each commit
// is therefore either sent to the successor or in the successor's mailbox.
class Commits {
 public:
  using Outcome = shm::CommitWriter::Outcome;

  // If `mailbox` is null, commits are sent as messages.
  explicit Commits(std::unique_ptr<shm::CommitWriter> mailbox)
      : mailbox_(std::move(mailbox)) {}

  StagedPuts& staged() { return staged_; }

  // Moves all staged data into *frame and writes it to the mailbox. Returns
  // kMessage if the caller must send it instead: the mailbox does not exist or
  // does not accept the data (CommitWriter::Write), or has no reader because
  // agent_is_gone(), which is called under the mutex, returns true.
  template <typename AgentIsGone>
  Outcome Commit(AgentIsGone&& agent_is_gone, std::string* frame) {
    const MutexLock lock(mu_);
    *frame = staged_.TakeFrame();
    if (frame->empty()) return Outcome::kWritten;
    if (mailbox_ == nullptr || agent_is_gone()) return Outcome::kMessage;
    const Outcome outcome = mailbox_->Write(*frame);
    if (outcome != Outcome::kMessage) Note();
    return outcome;
  }

  // Records that a commit is in the mailbox, or that the agent has it.
  void Note() { noted_ = true; }
  // Returns true if there was a commit since the last call. The agent must then
  // take part in the next fence even if no data is collected.
  bool TakeNoted() { return noted_.exchange(false); }

  // A reattach holds this mutex around Replace.
  Mutex& mutex() CANOPY_RETURN_CAPABILITY(mu_) { return mu_; }
  // Replaces the mailbox by the successor's mailbox.
  void Replace(std::unique_ptr<shm::CommitWriter> mailbox)
      CANOPY_REQUIRES(mu_) {
    mailbox_ = std::move(mailbox);
  }

 private:
  StagedPuts staged_;
  Mutex mu_;
  std::unique_ptr<shm::CommitWriter> mailbox_ CANOPY_GUARDED_BY(mu_);
  std::atomic<bool> noted_{false};
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_COMMITS_H_
