// What this process puts and commits, and the mailbox where its agent finds
// that.
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

// Threads: staged(), Note and TakeNoted from any thread. A commit holds the
// mutex from taking what was staged until the mailbox has it, and so does a
// reattach while it sends all commits to a successor: each commit is in one of
// the two.
class Commits {
 public:
  using Outcome = shm::CommitWriter::Outcome;

  // Null: commits are messages.
  explicit Commits(std::unique_ptr<shm::CommitWriter> mailbox)
      : mailbox_(std::move(mailbox)) {}

  StagedPuts& staged() { return staged_; }

  // Takes all that was staged into *frame and leaves it in the mailbox. Not in
  // it, and to be sent as a message, is what it has no room for, what is
  // committed without a mailbox, and all while agent_is_gone(), which is called
  // under the mutex: nobody would read the mailbox then.
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

  // A commit is in the mailbox, or the agent has it.
  void Note() { noted_ = true; }
  // Whether there was one since the last call: then the agent has to take part
  // in the next fence, whoever collects.
  bool TakeNoted() { return noted_.exchange(false); }

  // For a reattach, which holds it around Replace.
  Mutex& mutex() CANOPY_RETURN_CAPABILITY(mu_) { return mu_; }
  // The successor's mailbox.
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
