// The gRPC service that the kubelet calls.
#ifndef CANOPY_SERVER_KUBERNETES_DEVICE_PLUGIN_PLUGIN_SERVICE_H_
#define CANOPY_SERVER_KUBERNETES_DEVICE_PLUGIN_PLUGIN_SERVICE_H_

#include <cstddef>
#include <functional>
#include <set>
#include <utility>

#include "common/mutex.h"
#include "common/thread_annotations.h"
#include "protos/kubernetes/deviceplugin/v1beta1/api.grpc.pb.h"
#include "server/kubernetes/device_plugin/device_set.h"

namespace canopy::kubernetes {

// Answers on gRPC's threads, from memory: no call waits for the agent's loop, a
// file or another machine, so containers are created also while the agent is
// busy. Each watch of the devices has at most one message under way; changes
// meanwhile are sent as one. Thread-safe. Outlives the server.
class PluginService : public v1beta1::DevicePlugin::CallbackService {
 public:
  // The maximum number of watches; the kubelet has one.
  static constexpr size_t kMaxWatches = 8;

  // `devices` outlives the service. `on_watches` is called after the number of
  // watches has changed, on one of gRPC's threads.
  PluginService(const DeviceSet* devices, std::function<void()> on_watches)
      : devices_(devices), on_watches_(std::move(on_watches)) {}

  // Sends the health of all devices to those that watch them. The devices are
  // healthy at first.
  void SetHealthy(bool healthy);
  // Ends all watches, with the status UNAVAILABLE.
  void EndWatches();
  size_t watches() const;

  grpc::ServerUnaryReactor* GetDevicePluginOptions(
      grpc::CallbackServerContext* context, const v1beta1::Empty* request,
      v1beta1::DevicePluginOptions* response) override;
  grpc::ServerWriteReactor<v1beta1::ListAndWatchResponse>* ListAndWatch(
      grpc::CallbackServerContext* context,
      const v1beta1::Empty* request) override;
  grpc::ServerUnaryReactor* Allocate(
      grpc::CallbackServerContext* context,
      const v1beta1::AllocateRequest* request,
      v1beta1::AllocateResponse* response) override;

 private:
  class Watch;

  bool Add(Watch* watch);
  void Remove(Watch* watch);
  // Changes all watches by `change`, and lets them act.
  void ForAll(const std::function<void(Watch*)>& change);

  const DeviceSet* const devices_;
  const std::function<void()> on_watches_;
  mutable Mutex mutex_;
  bool healthy_ CANOPY_GUARDED_BY(mutex_) = true;
  std::set<Watch*> watches_ CANOPY_GUARDED_BY(mutex_);
};

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_DEVICE_PLUGIN_PLUGIN_SERVICE_H_
