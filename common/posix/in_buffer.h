// What came over one stream socket and is not used yet.
#ifndef CANOPY_COMMON_POSIX_IN_BUFFER_H_
#define CANOPY_COMMON_POSIX_IN_BUFFER_H_

#include <cstddef>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "common/posix/unique_fd.h"

namespace canopy {

// Bytes in order, and the descriptors that came with them. The counterpart of
// OutQueue. One thread.
class InBuffer {
 public:
  enum class State {
    kReceived,
    kBlocked,  // there is nothing now
    kEnded,    // the peer has closed
    kBroken,   // errno says how
  };

  // Room for so many bytes while no frame is larger.
  explicit InBuffer(size_t capacity);

  // One receive. `frame`: the size of the frame that view() begins with, as far
  // as it is known: there is room for all of it then. Bounded by the caller.
  // With `flags` as recvmsg takes them.
  State Receive(int socket, size_t frame = 0, int flags = 0);

  // Until the next Receive.
  std::string_view view() const { return {data_.get() + begin_, size()}; }
  size_t size() const { return end_ - begin_; }
  void Consume(size_t bytes) { begin_ += bytes; }

  // Takes the first `count` descriptors; false when there are not as many.
  bool TakeFds(size_t count, std::vector<UniqueFd>* fds);
  // Closes those that nobody took.
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
