// One job's commit mailboxes (common/shm/commit_layout.h), agent's side:
// commits that local ranks leave there become inputs of the core before any
// request may depend on them.
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

// Takes the first commit off the content of a mailbox. False when it is
// malformed.
bool NextCommit(std::string_view* bytes, std::vector<core::ScopedData>* data);

// Loop thread only.
class CommitMailboxes {
 public:
  // Runs work when the current round of the loop is over; the core's actions
  // have been executed by then.
  using Defer = std::function<void(std::function<void()> work)>;
  // A rank's mailbox is corrupted and is not read any more.
  using OnCorrupted = std::function<void(Rank rank)>;

  // `ranks`: the job's ranks on this node, ascending, at least one. The
  // descriptor is the predecessor's, or none.
  static Result<std::unique_ptr<CommitMailboxes>> Make(
      const std::string& nspace, std::vector<Rank> ranks, UniqueFd former,
      InputSink* sink, Defer defer, OnCorrupted on_corrupted);
  CommitMailboxes(const CommitMailboxes&) = delete;
  CommitMailboxes& operator=(const CommitMailboxes&) = delete;

  int fd() const { return reader_->fd(); }
  // Keeps fd() open.
  std::shared_ptr<const void> owner() const { return reader_; }
  uint64_t size() const { return reader_->size(); }

  // Ranks send commits as messages from now on, except those being written.
  void Close();
  // Opens the mailbox of the rank with that index for a connection.
  void Admit(uint32_t index);
  // A commit of that connection arrived as a message and was handled.
  void OnMessage(uint32_t index);

  // Reports the commits of the rank with that index, of a rank (none when it is
  // not local), or of all ranks.
  void TakeAt(uint32_t index);
  void Take(Rank rank);
  void TakeAll();

  // Reports the commits, and makes the rank (kRankUndef: all, until the first
  // does) signal its next commit by a frame.
  void Await(Rank rank);

 private:
  CommitMailboxes(std::shared_ptr<shm::CommitReader> reader, std::string nspace,
                  std::vector<Rank> ranks, InputSink* sink, Defer defer,
                  OnCorrupted on_corrupted);
  // What comes before a malformed commit is delivered; false then.
  bool Deliver(Rank rank, std::string_view bytes);
  void AwaitAt(uint32_t index);
  void PublishMessageCount(uint32_t index);
  void ReleaseLater();
  // The number of ranks when it is not local.
  uint32_t IndexOf(Rank rank) const;

  const std::shared_ptr<shm::CommitReader> reader_;
  const std::string nspace_;
  const std::vector<Rank> ranks_;
  InputSink* const sink_;
  const Defer defer_;
  const OnCorrupted on_corrupted_;
  bool closed_ = false;
  std::vector<uint32_t> messages_;  // by index
  std::shared_ptr<bool> release_scheduled_ = std::make_shared<bool>(false);
};

}  // namespace canopy::local

#endif  // CANOPY_SERVER_LOCAL_COMMIT_MAILBOXES_H_
