// The agent's side of one job's commit mailboxes (common/shm/commit_layout.h):
// commits that local ranks leave there become inputs of the core before any
// request that may depend on them.
#ifndef CANOPY_SERVER_LOCAL_COMMIT_MAILBOXES_H_
#define CANOPY_SERVER_LOCAL_COMMIT_MAILBOXES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/ids.h"
#include "common/posix/unique_fd.h"
#include "common/shm/commit_reader.h"
#include "common/status.h"
#include "server/core/step/client_inputs.h"
#include "server/ports/input_sink.h"

namespace canopy::local {

// Removes the first commit from the content of a mailbox and sets `*data` to
// it. Returns false if the commit is malformed.
bool NextCommit(std::string_view* bytes, std::vector<core::ScopedData>* data);

// Loop thread only.
class CommitMailboxes {
 public:
  // Runs `work` at the end of the current round of the loop, when the core's
  // actions have been executed.
  using Defer = std::function<void(std::function<void()> work)>;
  // Called when a rank's mailbox is corrupted; the mailbox is not read any
  // more.
  using OnCorrupted = std::function<void(Rank rank)>;

  // Opens the mailboxes of the predecessor if they fit, and creates new ones
  // otherwise. `ranks` are the job's ranks on this node, ascending, at least
  // one. `former` is the predecessor's descriptor, or empty. kErrOutOfResource:
  // no mailboxes can be created or mapped; kErrBadParam: there are too many
  // ranks.
  static Result<std::unique_ptr<CommitMailboxes>> Make(
      const std::string& nspace, std::vector<Rank> ranks, UniqueFd former,
      InputSink* sink, Defer defer, OnCorrupted on_corrupted);
  CommitMailboxes(const CommitMailboxes&) = delete;
  CommitMailboxes& operator=(const CommitMailboxes&) = delete;

  int fd() const { return reader_->fd(); }
  // Returns an owner that keeps fd() open.
  std::shared_ptr<const void> owner() const { return reader_; }
  uint64_t size() const { return reader_->size(); }

  // Makes ranks send commits as messages from now on. A commit that a rank is
  // writing meanwhile still arrives through its mailbox.
  void Close();
  // Opens the mailbox of the rank with that index (the position in `ranks`) for
  // a connection.
  void Admit(uint32_t index);
  // Counts a commit that arrived as a message of the rank with that index.
  // Called when the commit was handled.
  void OnMessage(uint32_t index);

  // Report to the core the commits that wait in mailboxes: those of the rank
  // with that index (TakeAt), those of a rank if it is local (Take), or those
  // of all ranks (TakeAll).
  void TakeAt(uint32_t index);
  void Take(Rank rank);
  void TakeAll();

  // Reports the rank's commits, and requests that the rank signals its next
  // commit by a frame. kRankUndef stands for all ranks.
  void Await(Rank rank);

 private:
  CommitMailboxes(std::shared_ptr<shm::CommitReader> reader, std::string nspace,
                  std::vector<Rank> ranks, InputSink* sink, Defer defer,
                  OnCorrupted on_corrupted);
  // Delivers the commits. Returns false at a malformed one; the commits before
  // it are delivered.
  bool Deliver(Rank rank, std::string_view bytes);
  void AwaitAt(uint32_t index);
  void PublishMessageCount(uint32_t index);
  void ReleaseLater();
  // Returns the index of the rank, or the number of ranks if the rank is not
  // local.
  uint32_t IndexOf(Rank rank) const;

  const std::shared_ptr<shm::CommitReader> reader_;
  const std::string nspace_;
  const std::vector<Rank> ranks_;
  InputSink* const sink_;
  const Defer defer_;
  const OnCorrupted on_corrupted_;
  bool closed_ = false;
  // For each rank's index: the number of its commits that arrived as messages.
  std::vector<uint32_t> messages_;
  std::shared_ptr<bool> release_scheduled_ = std::make_shared<bool>(false);
};

}  // namespace canopy::local

#endif  // CANOPY_SERVER_LOCAL_COMMIT_MAILBOXES_H_
