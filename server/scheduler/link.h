// Tracks whether the scheduler is reachable, and its features.
#ifndef CANOPY_SERVER_SCHEDULER_LINK_H_
#define CANOPY_SERVER_SCHEDULER_LINK_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/event_loop.h"
#include "protos/canopy/hostmodule/v1/host_module.pb.h"
#include "server/core/step/log_line.h"
#include "server/scheduler/service_client.h"

namespace canopy::scheduler {

// Requests the capabilities until there is an answer, with pauses that grow up
// to twenty times the first, and again on every new connection. Loop thread
// only.
class Link {
 public:
  using Log = std::function<void(const core::LogLine&)>;

  static constexpr int64_t kFirstPauseNs = 100'000'000;

  // `loop` and `client` must outlive this object. `address` is for messages.
  Link(EventLoop* loop, ServiceClient* client, v1::Overlay overlay,
       std::string address, Log log, int64_t first_pause_ns = kFirstPauseNs);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // Registers a function that is called whenever the service becomes reachable.
  // The functions are called in the order of their registration.
  void OnUp(std::function<void()> up) { ups_.push_back(std::move(up)); }
  // Requests the capabilities for the first time.
  void Start() { Ask(); }
  // Stops all requests.
  void Stop();

  // Returns true if the connection on which the service has reported its
  // features still exists.
  bool up() const { return up_ && client_->connected(); }
  // Requests the capabilities again if the connection was lost. Users of the
  // service call this function before they consult the capabilities.
  void Refresh();
  // Returns true if the service has the feature; false while it is not up.
  bool Has(v1::Feature feature) const;
  // Returns the reason why the service is not reachable, in one line.
  std::string WhyDown() const;
  // Records that a call has found the service unreachable, for this reason.
  void Lost(const std::string& why);
  // Handles the error of a call. Returns true if the connection has failed. The
  // call can then be repeated when the service is reachable.
  bool LostBy(const CallEnd& end);

  ServiceClient* client() { return client_; }
  const v1::Overlay& overlay() const { return overlay_; }
  void Warn(const std::string& text) const;

 private:
  void Ask();
  void OnAnswer(const CallEnd& end, const v1::GetCapabilitiesResponse& reply);
  void AskLater(const std::string& why);

  EventLoop* const loop_;
  ServiceClient* const client_;
  const v1::Overlay overlay_;
  const std::string address_;
  const Log log_;
  const int64_t first_pause_ns_;
  std::vector<std::function<void()>> ups_;
  v1::GetCapabilitiesResponse capabilities_;
  bool up_ = false;  // the features of the last connection are known
  bool stopped_ = false;
  // reason why the service is not up; empty: unknown yet
  std::string why_;
  bool said_ = false;     // it was logged that the service is not up
  int64_t pause_ns_ = 0;  // before the next request
  EventLoop::TimerId timer_ = 0;
};

}  // namespace canopy::scheduler

#endif  // CANOPY_SERVER_SCHEDULER_LINK_H_
