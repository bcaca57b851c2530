// A listening Unix socket for this user and root.
#ifndef CANOPY_SERVER_CONTROL_TRUSTED_LISTENER_H_
#define CANOPY_SERVER_CONTROL_TRUSTED_LISTENER_H_

#include <functional>
#include <string>

#include "common/event_loop.h"
#include "common/posix/acceptor.h"
#include "common/posix/unique_fd.h"
#include "common/status.h"

namespace canopy::control {

// Listens from Start until Stop or its destruction, and removes its socket
// then. The kernel identifies the connecting user. Some descriptors are held in
// reserve, so that clients are still served when all others are used up. Loop
// thread only.
class TrustedListener {
 public:
  // Receives a connected, non-blocking socket.
  using OnConnection = std::function<void(UniqueFd socket)>;

  TrustedListener(EventLoop* loop, OnConnection on_connection);
  ~TrustedListener();
  TrustedListener(const TrustedListener&) = delete;
  TrustedListener& operator=(const TrustedListener&) = delete;

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
