// The connection of a pod's shim until its job is launched.
#ifndef CANOPY_SERVER_KUBERNETES_GATEWAY_WAITING_POD_H_
#define CANOPY_SERVER_KUBERNETES_GATEWAY_WAITING_POD_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/event_loop.h"
#include "common/posix/unique_fd.h"
#include "common/status.h"
#include "server/shim/protocol.h"

namespace canopy::kubernetes {

// Reads the frame JoinPod; everything that the pod sends after it, before its
// job is launched, is an error. Loop thread only. The callbacks may destroy the
// object.
class WaitingPod {
 public:
  struct Events {
    std::function<void()> on_join;  // join() is valid from now on
    // The pod has left, or has broken the protocol.
    std::function<void(const std::string& reason)> on_gone;
  };
  // The largest JoinPod, in bytes, and the time within which it arrives.
  static constexpr uint32_t kMaxJoin = 256u << 10;
  static constexpr int64_t kJoinNs = int64_t{5} * 1000 * 1000 * 1000;

  // The loop outlives this object. `fd` is a connected socket.
  WaitingPod(EventLoop* loop, UniqueFd fd, Events events);
  ~WaitingPod();
  WaitingPod(const WaitingPod&) = delete;
  WaitingPod& operator=(const WaitingPod&) = delete;

  const process::JoinPod& join() const { return join_; }
  bool joined() const { return joined_; }
  // Sends news. Drops them if the pod does not read.
  void Send(const process::Notice& notice);
  // Returns the connection, which this object does not watch any more.
  UniqueFd Take();

  // The identity of the pod, and its state in the gateway.
  std::string pod_uid;
  std::string container_id;
  std::string gang;  // GangName; empty: the API server has not reported the pod
  std::function<void()> withdraw;  // set while the pod waits for its gang
  EventLoop::TimerId timer = 0;    // cancelled by the destructor

 private:
  void OnReadable();
  // Returns false if the pod has sent what it may not.
  bool TakeFrame();
  void Gone(const std::string& reason);

  EventLoop* const loop_;
  UniqueFd fd_;
  const std::shared_ptr<const Events> events_;
  std::string in_;
  bool joined_ = false;
  process::JoinPod join_;
};

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_GATEWAY_WAITING_POD_H_
