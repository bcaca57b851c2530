// One job's commit boxes (common/shm/commit_layout.h) as the endpoint runs
// them: what local ranks leave there becomes inputs of the core whenever
// somebody may ask for it.
#ifndef CANOPY_SERVER_LOCAL_COMMIT_BOXES_H_
#define CANOPY_SERVER_LOCAL_COMMIT_BOXES_H_

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

// Takes the first commit off what was in a box. False when it is malformed.
bool NextCommit(std::string_view* bytes, std::vector<core::ScopedData>* data);

// Loop thread only.
class CommitBoxes {
 public:
  // Runs work when the current round of the loop is over; the core has
  // executed by then what came of it.
  using Defer = std::function<void(std::function<void()> work)>;
  // A rank has written nonsense. Its box is not read any more.
  using OnSpoiled = std::function<void(Rank rank)>;

  // `ranks`: the job's ranks on this node, ascending, at least one. The
  // descriptor is a former agent's, or none.
  static Result<std::unique_ptr<CommitBoxes>> Make(const std::string& nspace,
                                                   std::vector<Rank> ranks,
                                                   UniqueFd former,
                                                   InputSink* sink, Defer defer,
                                                   OnSpoiled on_spoiled);
  CommitBoxes(const CommitBoxes&) = delete;
  CommitBoxes& operator=(const CommitBoxes&) = delete;

  int fd() const { return reader_->fd(); }
  // Keeps fd() open.
  std::shared_ptr<const void> owner() const { return reader_; }
  uint64_t size() const { return reader_->size(); }

  // Ranks send commits as messages from now on, but for what is under way.
  void Close();
  // A connection may write to the box of the rank with that index from now on.
  void Admit(uint32_t index);
  // A commit of that connection came by message and was handled.
  void OnMessage(uint32_t index);

  // Hands over what is there of the rank with that index, of a rank (none
  // when it is not here), or of all.
  void TakeAt(uint32_t index);
  void Take(Rank rank);
  void TakeAll();

  // Hands over what is there, and has the rank (kRankUndef: whoever is first)
  // tell of its next commit by a frame.
  void Await(Rank rank);

 private:
  CommitBoxes(std::shared_ptr<shm::CommitReader> reader, std::string nspace,
              std::vector<Rank> ranks, InputSink* sink, Defer defer,
              OnSpoiled on_spoiled);
  void TakeNow(uint32_t index);
  // Commit by commit, as messages would come. False when it is none.
  bool HandOver(Rank rank, std::string_view bytes);
  void AwaitAt(uint32_t index);
  void TellMessages(uint32_t index);
  void ReleaseLater();
  // The number of ranks when it is not here.
  uint32_t IndexOf(Rank rank) const;

  const std::shared_ptr<shm::CommitReader> reader_;
  const std::string nspace_;
  const std::vector<Rank> ranks_;
  InputSink* const sink_;
  const Defer defer_;
  const OnSpoiled on_spoiled_;
  bool closed_ = false;
  std::vector<uint32_t> messages_;  // by index
  std::vector<uint32_t> to_take_;   // indices, while they are handed over
  std::shared_ptr<bool> release_scheduled_ = std::make_shared<bool>(false);
};

}  // namespace canopy::local

#endif  // CANOPY_SERVER_LOCAL_COMMIT_BOXES_H_
