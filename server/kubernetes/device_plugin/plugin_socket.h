// The socket on which the kubelet finds a plugin.
#ifndef CANOPY_SERVER_KUBERNETES_DEVICE_PLUGIN_PLUGIN_SOCKET_H_
#define CANOPY_SERVER_KUBERNETES_DEVICE_PLUGIN_PLUGIN_SOCKET_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/event_loop.h"
#include "common/posix/acceptor.h"
#include "common/posix/unique_fd.h"
#include "common/status.h"
#include "server/kubernetes/device_plugin/file_identity.h"

namespace canopy::kubernetes {

// Listens from Open until Close or its destruction, which remove the socket's
// file. Only this process's user and root may connect, so no peer is asked who
// it is. Some descriptors are held in reserve for connections. Loop thread
// only.
class PluginSocket {
 public:
  // The maximum number of open connections; the kubelet has one.
  static constexpr size_t kMaxConnections = 16;

  // `on_connection` receives connected, non-blocking sockets.
  PluginSocket(EventLoop* loop, std::string path,
               std::function<void(UniqueFd)> on_connection);
  ~PluginSocket();
  PluginSocket(const PluginSocket&) = delete;
  PluginSocket& operator=(const PluginSocket&) = delete;

  // Makes sure that the path is that of this socket. The first call replaces
  // what a predecessor has left there. Later calls make the socket anew if the
  // file was removed; connections stay. kErrExists: another process has
  // replaced the file, and is not disturbed. Fails like ListenUnix.
  Status Open();
  // Accepts no more connections, and removes the file, unless it is another
  // process's.
  void Close();

 private:
  // An accepted connection, which gRPC owns. The cookie identifies it, and no
  // later one with the same descriptor.
  struct Connection {
    int fd = -1;
    uint64_t cookie = 0;
  };

  enum class FileState { kOwn, kMissing, kForeign };
  FileState StateOfFile() const;
  Status Listen();
  void StopListening();
  void OnConnections();
  bool Admit(int fd);

  EventLoop* const loop_;
  const std::string path_;
  const std::function<void(UniqueFd)> on_connection_;
  Acceptor acceptor_;
  std::optional<FileIdentity> file_;
  std::vector<Connection> connections_;
};

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_DEVICE_PLUGIN_PLUGIN_SOCKET_H_
