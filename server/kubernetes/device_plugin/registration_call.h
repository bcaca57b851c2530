// One call of the kubelet's Register.
#ifndef CANOPY_SERVER_KUBERNETES_DEVICE_PLUGIN_REGISTRATION_CALL_H_
#define CANOPY_SERVER_KUBERNETES_DEVICE_PLUGIN_REGISTRATION_CALL_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/event_loop.h"
#include "common/status.h"

namespace canopy::kubernetes {

struct RegistrationRequest {
  std::string kubelet_socket;  // path
  std::string endpoint;        // name of the plugin's socket
  std::string resource;
  int64_t deadline_ms = 15000;  // the kubelet connects for up to 10 s
};

// Runs in a thread of its own until the kubelet has answered or the deadline
// has passed. The call does not wait for a kubelet that is not there. Loop
// thread only.
class RegistrationCall {
 public:
  // `done` is called once from the loop, unless the object is destroyed before,
  // and may destroy it. It receives kErrUnreach if no kubelet answers,
  // kErrOutOfResource if the system refuses the thread, and otherwise the
  // kubelet's status. `loop` must outlive the object.
  RegistrationCall(EventLoop* loop, const RegistrationRequest& request,
                   std::function<void(const Status& status)> done);
  // Cancels the call. Waits for the end of the thread, a moment.
  ~RegistrationCall();
  RegistrationCall(const RegistrationCall&) = delete;
  RegistrationCall& operator=(const RegistrationCall&) = delete;

 private:
  struct Impl;
  const std::shared_ptr<Impl> impl_;
};

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_DEVICE_PLUGIN_REGISTRATION_CALL_H_
