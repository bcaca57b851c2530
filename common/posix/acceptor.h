// Accepts connections from a listening socket, even when descriptors run out.
#ifndef CANOPY_COMMON_POSIX_ACCEPTOR_H_
#define CANOPY_COMMON_POSIX_ACCEPTOR_H_

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "common/posix/unique_fd.h"

namespace canopy {

// Used by one thread at a time.
class Acceptor {
 public:
  // Descriptors that are kept open and released when no others are left.
  // `descriptors` is their number, and `per_connection` the number released for
  // one connection and for what it opens. The last descriptors are used only to
  // refuse connections.
  struct Reserve {
    size_t descriptors = 1;
    size_t per_connection = 1;
  };

  Acceptor() = default;
  // `listener` must be a non-blocking listening socket.
  explicit Acceptor(UniqueFd listener)
      : Acceptor(std::move(listener), {1, 1}) {}
  Acceptor(UniqueFd listener, Reserve reserve);

  // Returns the socket, which the caller watches for input; -1 if there is
  // none.
  int fd() const { return listener_.get(); }
  explicit operator bool() const { return static_cast<bool>(listener_); }

  // Passes up to 64 waiting connections to `on_connection`; the descriptors are
  // non-blocking and close-on-exec. If no descriptor is left except the last of
  // the reserve, one connection is refused, because in the backlog it would
  // wake the caller for ever. Returns true if that happened for the first time
  // since a connection was accepted, so that the caller can log it. The
  // callback must not call this object.
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
