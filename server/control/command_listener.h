// A listening Unix socket for commands of this machine.
#ifndef CANOPY_SERVER_CONTROL_COMMAND_LISTENER_H_
#define CANOPY_SERVER_CONTROL_COMMAND_LISTENER_H_

#include <sys/types.h>

#include <functional>
#include <string>

#include "common/event_loop.h"
#include "common/posix/acceptor.h"
#include "common/posix/unique_fd.h"
#include "common/status.h"

namespace canopy::control {

// Returns true for the user of this process and for root.
bool IsTrusted(int fd, uid_t user);

// Listens from Start until Stop or its destruction, which remove the socket.
// The kernel identifies the connecting user. Some descriptors are held in
// reserve, so that clients are served even if all other descriptors are used
// up. Loop thread only.
class CommandListener {
 public:
  // Returns true if a connection `fd` of this user is accepted.
  using Admits = std::function<bool(int fd, uid_t user)>;
  // Receives a connected, non-blocking socket.
  using OnConnection = std::function<void(UniqueFd socket)>;

  CommandListener(EventLoop* loop, OnConnection on_connection,
                  Admits admits = IsTrusted);
  ~CommandListener();
  CommandListener(const CommandListener&) = delete;
  CommandListener& operator=(const CommandListener&) = delete;

  // Starts to listen at `path`, in a directory that only this user can change.
  // An existing socket is replaced. Users with write permission by `mode` may
  // connect. Fails like ListenUnix.
  Status Start(const std::string& path, mode_t mode = 0600);
  void Stop();

 private:
  void OnConnections();

  EventLoop* const loop_;
  const OnConnection on_connection_;
  const Admits admits_;
  std::string path_;
  Acceptor acceptor_;
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_COMMAND_LISTENER_H_
