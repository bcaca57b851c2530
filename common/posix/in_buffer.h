// Data received over one stream socket and not used yet.
#ifndef CANOPY_COMMON_POSIX_IN_BUFFER_H_
#define CANOPY_COMMON_POSIX_IN_BUFFER_H_

#include <cstddef>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "common/posix/unique_fd.h"

namespace canopy {

// Bytes in order, and the descriptors that arrived with them. The counterpart
// of OutQueue. Used by one thread.
class InBuffer {
 public:
  enum class State {
    kReceived,
    kBlocked,  // nothing is available now
    kEnded,    // the peer has closed
    kBroken,   // errno has the reason
  };

  // Makes a buffer for `capacity` bytes; it grows only for a larger frame.
  explicit InBuffer(size_t capacity);

  // Calls recvmsg once, with `flags`. `frame` is the size of the frame with
  // which view() begins, if it is known, so that the buffer has room for the
  // whole frame. The caller must bound `frame`.
  State Receive(int socket, size_t frame = 0, int flags = 0);

  // Returns the bytes that were not consumed, valid until the next Receive.
  std::string_view view() const { return {data_.get() + begin_, size()}; }
  size_t size() const { return end_ - begin_; }
  void Consume(size_t bytes) { begin_ += bytes; }

  // Takes the first `count` descriptors; returns false if there are fewer.
  bool TakeFds(size_t count, std::vector<UniqueFd>* fds);
  // Closes the descriptors that were not taken.
  void DropFds() { fds_.clear(); }

 private:
  void MakeRoom(size_t frame);

  const size_t usual_capacity_;
  size_t capacity_;
  std::unique_ptr<char[]> data_;
  size_t begin_ = 0;
  size_t end_ = 0;
  std::deque<UniqueFd> fds_;
};

}  // namespace canopy

#endif  // CANOPY_COMMON_POSIX_IN_BUFFER_H_
