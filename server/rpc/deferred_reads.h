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
    // The connection, once it is known, which gRPC does not tell: that on which
    // came what the reader got. -1: not known.
    int fd_ = -1;
    // Messages in a row whose size was that of what came on it.
    int fitting_ = 0;
    uint64_t taken_ = 0;  // bytes that gRPC had taken from it
    int64_t since_ = 0;   // when it was deferred; 0: it is not
  };

  explicit DeferredReads(EventLoop* loop) : loop_(loop) {}
  ~DeferredReads();

  // What each write on a connection grows by: 22 bytes for a record of TLS,
  // which is what is assumed, or 0.
  void SetRecordBytes(size_t bytes) { record_bytes_ = bytes; }

  // A message of so many bytes arrived, and its reader would read the next.
  // True: the read is deferred, and ResumeRead follows when its connection is
  // readable or after kLongestNs. False: it must read now, because something
  // may be there already.
  bool Defer(Reader* reader, size_t bytes);
  // The reader is not called any more.
  void Forget(Reader* reader);
  void WakeAll();

  // A round of waiting begins.
  void BeginRound() { readable_.clear(); }
  // It found this connection readable.
  void Found(int fd) { readable_.push_back(fd); }
  // Whether a deferred read has data, once gRPC has taken what arrived.
  bool HaveReadable() const;
  void WakeReadable();

  // The longest delay of a message that arrived undetected; see Rest. Longer
  // than most fences take, because a read that begins before the next message
  // arrives saves nothing.
  static constexpr int64_t kLongestNs = 20000000;

 private:
  bool Claim(Reader* reader);
  bool Fits(Reader* reader, size_t bytes);
  bool IsFound(const Reader* reader) const;
  void WakeIf(bool (*due)(const DeferredReads*, const Reader*));
  void SetTimer();

  EventLoop* const loop_;
  size_t record_bytes_ = 22;
  std::vector<int> readable_;
  std::vector<Reader*> known_;  // that have a connection
  int num_deferred_ = 0;
  EventLoop::TimerId timer_ = 0;
  bool timer_set_ = false;
};

}  // namespace canopy::rpc

#endif  // CANOPY_SERVER_RPC_DEFERRED_READS_H_
