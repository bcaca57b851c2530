// Data that waits to be sent over one stream socket.
#ifndef CANOPY_COMMON_POSIX_OUT_QUEUE_H_
#define CANOPY_COMMON_POSIX_OUT_QUEUE_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "common/bytes.h"
#include "common/posix/unique_fd.h"

namespace canopy {

// A descriptor of another object, which `owner` keeps open.
struct SharedFd {
  int fd = -1;
  std::shared_ptr<const void> owner;
};

// Bytes in order; some chunks have descriptors attached to their first byte.
// Used by one thread.
class OutQueue {
 public:
  // The kernel's limit for descriptors in one message.
  static constexpr size_t kMaxFds = 253;

  enum class State {
    kEmpty,    // everything was sent
    kBlocked,  // the socket takes no more now
    kBusy,     // the kernel presently refuses further descriptors in flight
    kBroken,   // the connection has failed
  };

  // Appends bytes without descriptors.
  void Append(std::string bytes);
  void Append(Bytes bytes);
  // Appends bytes with descriptors, at most kMaxFds, which arrive together with
  // the first of these bytes.
  void AppendWithFds(std::string bytes, std::vector<SharedFd> fds);
  // Like AppendWithFds, with descriptors that the queue owns and closes after
  // they were sent.
  void AppendWithOwnFds(std::string bytes, std::vector<UniqueFd> fds);

  // Sends as much as the socket takes without blocking, with one system call
  // for everything up to the next descriptors.
  State Flush(int socket);

  size_t size() const { return size_; }
  // Returns a copy of the first `bytes` unsent bytes; at most size().
  std::string Front(size_t bytes) const;
  bool empty() const { return chunks_.empty(); }

 private:
  struct Chunk {
    std::string text;  // used if `shared` is empty
    Bytes shared;
    std::vector<SharedFd> fds;
    std::string_view view() const {
      return shared.empty() ? std::string_view(text) : shared.view();
    }
  };

  void Sent(size_t bytes);

  std::deque<Chunk> chunks_;
  size_t front_sent_ = 0;  // bytes of the first chunk
  size_t size_ = 0;        // unsent bytes
};

}  // namespace canopy

#endif  // CANOPY_COMMON_POSIX_OUT_QUEUE_H_
