// Deferred reads: a read of a small message does not begin before data has
// arrived, so that HTTP/2 window updates are coalesced.
//
// A read of a gRPC stream that waits makes HTTP/2 send a window update at once
// for what came before it: a packet of its own for each message, which costs
// both sides as much as a message does. A read that begins when its data is
// there lets the update travel with this side's next message.
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
  // A stream that is alone on its connection.
  class Reader {
   public:
    virtual ~Reader() = default;
    // Begins the deferred read.
    virtual void ResumeRead() = 0;

   private:
    friend class DeferredReads;
    // The connection, once it is known, which gRPC does not expose: that on
    // which came what the reader got. -1: not known.
    int fd_ = -1;
    // Messages in a row whose size was that of what came on it.
    int fitting_ = 0;
    // Bytes that gRPC had taken from it, but for less than a small message.
    uint64_t taken_ = 0;
    int64_t since_ = 0;  // when it was deferred; 0: it is not
  };

  explicit DeferredReads(EventLoop* loop) : loop_(loop) {}
  ~DeferredReads();

  // What each write on a connection grows by: 22 bytes for a record of TLS,
  // which is the default, or 0.
  void SetRecordBytes(size_t bytes) {
    loop_->AssertOnThread();
    record_bytes_ = bytes;
  }

  // A message of so many bytes arrived, and its reader would read the next.
  // True: the read is deferred, and ResumeRead follows when its connection is
  // readable or after kLongestNs. False: it must read now, because something
  // may be there already.
  bool Defer(Reader* reader, size_t bytes);
  // The reader is not called any more.
  void Forget(Reader* reader);
  void WakeAll();

  // A round of waiting begins.
  void BeginRound() {
    loop_->AssertOnThread();
    readable_.clear();
  }
  // It found this connection readable.
  void Found(int fd) {
    loop_->AssertOnThread();
    readable_.push_back(fd);
  }
  // Whether a deferred read has data, once gRPC has taken what arrived.
  bool HaveReadable() const;
  void WakeReadable();

  // How many deferred reads have ended after kLongestNs, because their
  // connection was not found readable before.
  uint64_t timed_out() const {
    loop_->AssertOnThread();
    return timed_out_;
  }

  // The longest delay of a message that arrived undetected; see Defer. Longer
  // than most fences take, because a read that begins before the next message
  // arrives saves nothing.
  static constexpr int64_t kLongestNs = 20000000;

 private:
  bool Claim(Reader* reader) CANOPY_REQUIRES(loop_);
  bool Fits(Reader* reader, size_t bytes) CANOPY_REQUIRES(loop_);
  bool IsFound(const Reader* reader) const CANOPY_REQUIRES(loop_);
  // Returns how many.
  int WakeIf(bool (*due)(const DeferredReads*, const Reader*))
      CANOPY_REQUIRES(loop_);
  void SetTimer() CANOPY_REQUIRES(loop_);

  EventLoop* const loop_;
  size_t record_bytes_ CANOPY_GUARDED_BY(loop_) = 22;
  std::vector<int> readable_ CANOPY_GUARDED_BY(loop_);
  // Those that have a connection.
  std::vector<Reader*> known_ CANOPY_GUARDED_BY(loop_);
  int num_deferred_ CANOPY_GUARDED_BY(loop_) = 0;
  uint64_t timed_out_ CANOPY_GUARDED_BY(loop_) = 0;
  EventLoop::TimerId timer_ CANOPY_GUARDED_BY(loop_) = 0;
  bool timer_set_ CANOPY_GUARDED_BY(loop_) = false;
};

}  // namespace canopy::rpc

#endif  // CANOPY_SERVER_RPC_DEFERRED_READS_H_
