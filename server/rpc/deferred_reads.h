// Deferred reads: the read that follows a small message does not begin before
// data has arrived, so that HTTP/2 window updates are coalesced.
//
// While a read of a gRPC stream is pending, HTTP/2 sends the window update for
// the previous message at once, in a packet of its own. That packet costs both
// sides as much as a message. If the read begins when its data has arrived, the
// update travels with this side's next message instead.
//
// gRPC does not reveal which connection a stream uses. It is inferred: a reader
// is assigned to a connection on which exactly the bytes of its messages
// arrived, several times in a row (TCP_INFO). If the inference fails, reads are
// not deferred. If it is wrong, a message is delayed by at most kLongestNs.
//
// Invariants: `since_` != 0 exactly for deferred readers, and num_deferred_
// counts them. `known_` contains exactly the readers that have a connection. A
// connection is assigned to at most one reader.
#ifndef CANOPY_SERVER_RPC_DEFERRED_READS_H_
#define CANOPY_SERVER_RPC_DEFERRED_READS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/event_loop.h"
#include "common/thread_annotations.h"

namespace canopy::rpc {

// Loop thread only.
class DeferredReads {
 public:
  // A stream that is the only one on its connection.
  class Reader {
   public:
    virtual ~Reader() = default;
    // Begins the deferred read.
    virtual void ResumeRead() = 0;

   private:
    friend class DeferredReads;
    // The assigned connection; -1 while it is not known.
    int fd_ = -1;
    // The number of successive messages whose size matched the bytes received.
    int fitting_ = 0;
    // The bytes that gRPC has read from the connection, accurate to less than a
    // small message.
    uint64_t taken_ = 0;
    int64_t since_ = 0;  // time of the deferral; 0: not deferred
  };

  explicit DeferredReads(EventLoop* loop) : loop_(loop) {}
  ~DeferredReads();

  // Sets the overhead of each write on a connection in bytes: 22 for a TLS
  // record (the default), 0 without TLS.
  void SetRecordBytes(size_t bytes) {
    loop_->AssertOnThread();
    record_bytes_ = bytes;
  }

  // Called when a message of `bytes` bytes has arrived and its reader requests
  // the next one. Returns true if the read is deferred; ResumeRead follows when
  // the connection is readable, or after kLongestNs. Returns false if the
  // caller must read now, because data may have arrived already.
  bool Defer(Reader* reader, size_t bytes);
  // Removes a reader, which is not called any more.
  void Forget(Reader* reader);
  void WakeAll();

  // Called when a round of waiting begins.
  void BeginRound() {
    loop_->AssertOnThread();
    readable_.clear();
  }
  // Called when this round has found the connection `fd` readable.
  void Found(int fd) {
    loop_->AssertOnThread();
    readable_.push_back(fd);
  }
  // Returns true if a deferred read has data. Called after gRPC has read the
  // data that arrived.
  bool HaveReadable() const;
  void WakeReadable();

  // Returns the number of deferred reads that ended after kLongestNs because
  // their connection was not found readable.
  uint64_t timed_out() const {
    loop_->AssertOnThread();
    return timed_out_;
  }

  // The longest delay of a message whose arrival was not detected. It is longer
  // than most fences take, because a read that begins before the next message
  // arrives saves nothing.
  static constexpr int64_t kLongestNs = 20000000;

 private:
  bool Claim(Reader* reader) CANOPY_REQUIRES(loop_);
  bool Fits(Reader* reader, size_t bytes) CANOPY_REQUIRES(loop_);
  bool IsFound(const Reader* reader) const CANOPY_REQUIRES(loop_);
  // Resumes the reads for which `due` returns true. Returns their number.
  int WakeIf(bool (*due)(const DeferredReads*, const Reader*))
      CANOPY_REQUIRES(loop_);
  void SetTimer() CANOPY_REQUIRES(loop_);

  EventLoop* const loop_;
  size_t record_bytes_ CANOPY_GUARDED_BY(loop_) = 22;
  std::vector<int> readable_ CANOPY_GUARDED_BY(loop_);
  // The readers that have a connection.
  std::vector<Reader*> known_ CANOPY_GUARDED_BY(loop_);
  int num_deferred_ CANOPY_GUARDED_BY(loop_) = 0;
  uint64_t timed_out_ CANOPY_GUARDED_BY(loop_) = 0;
  EventLoop::TimerId timer_ CANOPY_GUARDED_BY(loop_) = 0;
  bool timer_set_ CANOPY_GUARDED_BY(loop_) = false;
};

}  // namespace canopy::rpc

#endif  // CANOPY_SERVER_RPC_DEFERRED_READS_H_
