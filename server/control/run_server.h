// Serves launchers on this machine without gRPC; see common/run_protocol.h.
#ifndef CANOPY_SERVER_CONTROL_RUN_SERVER_H_
#define CANOPY_SERVER_CONTROL_RUN_SERVER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "common/event_loop.h"
#include "common/posix/unique_fd.h"
#include "common/status.h"
#include "server/control/command_listener.h"
#include "server/control/launcher_stream.h"

namespace canopy::control {

// Listens from Start until its destruction. Loop thread only.
class RunServer {
 public:
  // `owner` must outlive the server.
  RunServer(EventLoop* loop, LauncherListener* owner);
  ~RunServer();
  RunServer(const RunServer&) = delete;
  RunServer& operator=(const RunServer&) = delete;

  // Starts to listen. Returns an error if the socket cannot be created.
  Status Start(const std::string& socket_path);
  // Writes as much of the queues as the sockets accept. Called before this
  // process executes another program.
  void Flush();

 private:
  class Connection;

  void OnConnection(UniqueFd socket);
  void Close(uint64_t id);

  EventLoop* const loop_;
  LauncherListener* const owner_;
  CommandListener listener_;
  std::map<uint64_t, std::unique_ptr<Connection>> connections_;
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_RUN_SERVER_H_
