// Takes connections from a listening socket, also when descriptors run out.
#ifndef CANOPY_COMMON_POSIX_ACCEPTOR_H_
#define CANOPY_COMMON_POSIX_ACCEPTOR_H_

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "common/posix/unique_fd.h"

namespace canopy {

// One thread at a time.
class Acceptor {
 public:
  // Descriptors that are held back for when no others are left: how many, and
  // how many of them make room for a connection and what it opens. The last of
  // them only refuses.
  struct Reserve {
    size_t descriptors = 1;
    size_t per_connection = 1;
  };

  Acceptor() = default;
  // `listener`: a listening socket that does not block.
  explicit Acceptor(UniqueFd listener)
      : Acceptor(std::move(listener), {1, 1}) {}
  Acceptor(UniqueFd listener, Reserve reserve);

  // To be watched for input; -1: there is none.
  int fd() const { return listener_.get(); }
  explicit operator bool() const { return static_cast<bool>(listener_); }

  // Hands over connections that wait, at most 64 of them, each with a
  // descriptor that does not block and is closed on exec. When no descriptor
  // is left, and nothing but the last of the reserve, one connection is
  // refused, because in the backlog it would wake the caller for ever. True:
  // that happened for the first time since a connection was taken, so somebody
  // should be told. The callback must leave this object alone.
  bool Accept(const std::function<void(UniqueFd)>& on_connection);

 private:
  UniqueFd AcceptOne() const;
  void FillReserve();
  UniqueFd AcceptFromReserve();
  void RefuseOne();

  UniqueFd listener_;
  Reserve size_;
  std::vector<UniqueFd> reserve_;
  bool exhausted_ = false;
};

}  // namespace canopy

#endif  // CANOPY_COMMON_POSIX_ACCEPTOR_H_
