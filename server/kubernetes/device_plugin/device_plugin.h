// Offers ranks as a resource of Kubernetes, so that containers which request
// the resource get what Canopy's processes need.
#ifndef CANOPY_SERVER_KUBERNETES_DEVICE_PLUGIN_DEVICE_PLUGIN_H_
#define CANOPY_SERVER_KUBERNETES_DEVICE_PLUGIN_DEVICE_PLUGIN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/event_loop.h"
#include "common/status.h"
#include "server/kubernetes/device_plugin/device_set.h"

namespace canopy::kubernetes {

struct DevicePluginOptions {
  // The kubelet's directory of plugin sockets.
  std::string plugin_dir = "/var/lib/kubelet/device-plugins";
  // The resource, as containers request it.
  std::string resource = "canopy.dev/rank";
  DeviceSetOptions devices;
  // Receives a line when the plugin is registered, and when the reason changes
  // why it is not. May be empty.
  std::function<void(const std::string& line)> log;
  // The pause after a failed attempt to register; it doubles with each further
  // attempt, up to the second one.
  int64_t first_pause_ns = 100'000'000;
  int64_t longest_pause_ns = 10'000'000'000;
  // The time in which the kubelet must begin to watch the devices after it has
  // accepted the registration.
  int64_t watch_time_ns = 10'000'000'000;
};

// A device plugin of the kubelet (protos/kubernetes/deviceplugin): while it is
// registered, the scheduler of Kubernetes assigns pods that request the
// resource to this node. The plugin registers whenever a kubelet appears, or
// stops to watch the devices, for which it need not be there at the start. It
// is served on gRPC's threads, and never blocks the loop longer than a thread
// takes to start or end.
//
// The socket is in the kubelet's directory, under the name "canopy.sock". The
// kubelet removes it when it starts, and the plugin makes it anew. One agent of
// a node has the plugin: if another process replaces the socket, the plugin
// leaves it alone and is no longer registered.
//
// Loop thread only.
class DevicePlugin {
 public:
  // Starts to serve and to register. `loop` must outlive the plugin. Uses gRPC,
  // so the agent chooses the driver of its links before
  // (server/rpc/driver_choice.h).
  // kErrBadParam: the options are invalid; kErrServerFailedRequest: gRPC cannot
  // start the server. The state of the kubelet and of its directory is no
  // error.
  static Result<std::unique_ptr<DevicePlugin>> Start(
      EventLoop* loop, DevicePluginOptions options);
  // Ends the kubelet's watch, so that it offers the resource no longer, and
  // removes the socket. Waits up to 50 ms for the kubelet. Running containers
  // stay as they are.
  ~DevicePlugin();
  DevicePlugin(const DevicePlugin&) = delete;
  DevicePlugin& operator=(const DevicePlugin&) = delete;

  // Sets whether ranks can run here; true at first. The kubelet assigns no
  // device that is not healthy to further containers.
  void SetHealthy(bool healthy);

  // Returns true if the kubelet has accepted the registration and watches the
  // devices.
  bool registered() const;
  // Returns the reason why the plugin is not registered; empty if it is.
  const std::string& problem() const;

 private:
  struct Impl;
  explicit DevicePlugin(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_DEVICE_PLUGIN_DEVICE_PLUGIN_H_
