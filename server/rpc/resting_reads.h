// Reads of small messages that do not begin before there is something to read.
//
// A read of a gRPC stream that waits makes HTTP/2 send a window update at once
// for what came before it: a packet of its own for each message, which costs
// both sides as much as a message does. A read that begins when its data is
// there lets the update travel with this side's next message.
#ifndef CANOPY_SERVER_RPC_RESTING_READS_H_
#define CANOPY_SERVER_RPC_RESTING_READS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/event_loop.h"

namespace canopy::rpc {

// Loop thread only.
class RestingReads {
 public:
  // A stream that is alone on its connection.
  class Reader {
   public:
    virtual ~Reader() = default;
    // Begins the read that rested.
    virtual void EndRest() = 0;

   private:
    friend class RestingReads;
    // The connection, once it is known, which gRPC does not tell: that on which
    // came what the reader got. -1: not known.
    int fd_ = -1;
    // Messages in a row whose size was that of what came on it.
    int fitting_ = 0;
    uint64_t taken_ = 0;  // bytes that gRPC had taken from it
    int64_t since_ = 0;   // when it began to rest; 0: it does not
  };

  explicit RestingReads(EventLoop* loop) : loop_(loop) {}
  ~RestingReads();

  // What each write on a connection grows by: 22 bytes for a record of TLS,
  // which is what is assumed, or 0.
  void SetRecordBytes(size_t bytes) { record_bytes_ = bytes; }

  // A message of so many bytes came, and its reader would read the next. True:
  // EndRest follows, when its connection is readable or after kLongestNs.
  // False: it must read now, because something may be there already.
  bool Rest(Reader* reader, size_t bytes);
  // The reader is not touched any more.
  void Forget(Reader* reader);
  void WakeAll();

  // A round of waiting begins.
  void BeginRound() { readable_.clear(); }
  // It found this connection readable.
  void Found(int fd) { readable_.push_back(fd); }
  // One that rests can read, once gRPC has taken what came.
  bool HaveNews() const;
  void WakeThoseWithNews();

  // What a message waits that arrived unseen; see Rest. Longer than most fences
  // take, because a rest that ends before the next message is of no use.
  static constexpr int64_t kLongestNs = 20000000;

 private:
  bool Claim(Reader* reader);
  bool Fits(Reader* reader, size_t bytes);
  bool IsFound(const Reader* reader) const;
  void WakeIf(bool (*due)(const RestingReads*, const Reader*));
  void SetTimer();

  EventLoop* const loop_;
  size_t record_bytes_ = 22;
  std::vector<int> readable_;
  std::vector<Reader*> known_;  // that have a connection
  int resting_ = 0;
  EventLoop::TimerId timer_ = 0;
  bool timer_set_ = false;
};

}  // namespace canopy::rpc

#endif  // CANOPY_SERVER_RPC_RESTING_READS_H_
