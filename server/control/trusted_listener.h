// A listening Unix socket to which only this user and root can connect.
#ifndef CANOPY_SERVER_CONTROL_TRUSTED_LISTENER_H_
#define CANOPY_SERVER_CONTROL_TRUSTED_LISTENER_H_

#include <functional>
#include <string>

#include "common/event_loop.h"
#include "common/posix/acceptor.h"
#include "common/posix/unique_fd.h"
#include "common/status.h"

namespace canopy::control {

// Listens from Start until Stop or its destruction, which remove the socket.
// The kernel identifies the connecting user. Some descriptors are held in
// reserve, so that clients are served even if all other descriptors are used
// up. Loop thread only.
class TrustedListener {
 public:
  // Receives a connected, non-blocking socket.
  using OnConnection = std::function<void(UniqueFd socket)>;

  TrustedListener(EventLoop* loop, OnConnection on_connection);
  ~TrustedListener();
  TrustedListener(const TrustedListener&) = delete;
  TrustedListener& operator=(const TrustedListener&) = delete;

  // Starts to listen at `path`, in a directory that only this user can change.
  // An existing socket is replaced. Fails like ListenUnix.
  Status Start(const std::string& path);
  void Stop();

 private:
  void OnConnections();

  EventLoop* const loop_;
  const OnConnection on_connection_;
  std::string path_;
  Acceptor acceptor_;
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_TRUSTED_LISTENER_H_
