// Takes connections from a listening socket, also when descriptors run out.
#ifndef CANOPY_COMMON_POSIX_ACCEPTOR_H_
#define CANOPY_COMMON_POSIX_ACCEPTOR_H_

#include <functional>

#include "common/posix/unique_fd.h"

namespace canopy {

// One thread at a time.
class Acceptor {
 public:
  Acceptor() = default;
  // `listener`: a listening socket that does not block.
  explicit Acceptor(UniqueFd listener);

  // To be watched for input; -1: there is none.
  int fd() const { return listener_.get(); }
  explicit operator bool() const { return static_cast<bool>(listener_); }

  // Hands over connections that wait, at most 64 of them, each with a
  // descriptor that does not block and is closed on exec. When no descriptor
  // is left one connection is refused, because in the backlog it would wake
  // the caller for ever. True: that happened for the first time since a
  // connection was taken, so somebody should be told. The callback must leave
  // this object alone.
  bool Accept(const std::function<void(UniqueFd)>& on_connection);

 private:
  void RefuseOne();

  UniqueFd listener_;
  UniqueFd reserve_;  // given up to refuse a connection when none is left
  bool exhausted_ = false;
};

}  // namespace canopy

#endif  // CANOPY_COMMON_POSIX_ACCEPTOR_H_
