// Limits the connections and the calls of each user at the socket for all
// users. gRPC owns the connections, so their ends are noticed when the next one
// arrives.
#ifndef CANOPY_SERVER_CONTROL_USER_CONNECTIONS_H_
#define CANOPY_SERVER_CONTROL_USER_CONNECTIONS_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "common/mutex.h"

namespace canopy::control {

// Not synchronised.
class UserConnections {
 public:
  // Limits for the open connections of one user, and of all users together.
  static constexpr size_t kMaxOfUser = 64;
  static constexpr size_t kMax = 1024;

  // Records the connection `fd` and returns true, unless the user or all users
  // together have too many.
  bool Admit(int fd, uid_t user);

 private:
  struct Open {
    int fd = -1;
    uint64_t cookie = 0;  // identifies the connection, and no later one
    uid_t user = 0;
  };

  std::vector<Open> open_;
};

// Any thread. Slots may outlive this object.
class UserCalls {
 public:
  // Limit for the unfinished calls of one user.
  static constexpr size_t kMaxOfUser = 256;

  // A call counts until its slot is destroyed.
  using Slot = std::shared_ptr<void>;
  // Returns null if the user has too many calls.
  Slot Begin(uid_t user);

 private:
  struct Counts {
    Mutex mutex;
    std::map<uid_t, size_t> of_user CANOPY_GUARDED_BY(mutex);
  };

  const std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_USER_CONNECTIONS_H_
