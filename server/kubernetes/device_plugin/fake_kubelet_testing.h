// A kubelet as plugins see it.
#ifndef CANOPY_SERVER_KUBERNETES_DEVICE_PLUGIN_FAKE_KUBELET_TESTING_H_
#define CANOPY_SERVER_KUBERNETES_DEVICE_PLUGIN_FAKE_KUBELET_TESTING_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/mutex.h"
#include "protos/kubernetes/deviceplugin/v1beta1/api.grpc.pb.h"

namespace canopy::kubernetes {

// Serves kubelet.sock in a directory between Start and Stop. As Kubernetes 1.24
// and newer do, it connects to a plugin before it answers the registration, and
// watches the plugin's devices afterwards. Waits end with a failure after half
// a minute.
class FakeKubelet {
 public:
  explicit FakeKubelet(std::string directory);
  ~FakeKubelet();

  // Removes all sockets of the directory, as the kubelet does, and listens.
  void Start();
  // Ends the watches, and stops to listen. Kill leaves the socket's file
  // behind.
  void Stop();
  void Kill();

  // The status with which registrations are refused; OK: they are accepted.
  void Refuse(const grpc::Status& status);
  // Sets whether plugins are watched after their registration.
  void SetWatches(bool watches);
  // Ends the watches of all plugins, and remains.
  void EndWatches();

  // The number of calls of Register since the first Start.
  int registrations() const;
  v1beta1::RegisterRequest last_registration() const;
  void AwaitRegistrations(int count) const;
  // Waits until all devices that the plugin has sent last are healthy or not.
  // Returns their names.
  std::vector<std::string> AwaitDevices(bool healthy) const;
  // Waits until the watch has ended.
  void AwaitNoDevices() const;

 private:
  class Service;
  struct State;

  const std::string directory_;
  const std::string socket_;
  const std::shared_ptr<State> state_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_DEVICE_PLUGIN_FAKE_KUBELET_TESTING_H_
