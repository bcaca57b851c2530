// Messages to the service manager, such as systemd, that has started a process.
#ifndef CANOPY_SERVER_AGENT_BRING_UP_SERVICE_MANAGER_H_
#define CANOPY_SERVER_AGENT_BRING_UP_SERVICE_MANAGER_H_

#include <cstdint>

#include "common/event_loop.h"

namespace canopy::agent {

enum class ServiceState : uint8_t {
  kReady,      // the service is ready, or ready again after a reload
  kReloading,  // it reads its configuration again
  kStopping,
};

// Reports the state to the service manager, in the protocol of sd_notify. Does
// nothing if NOTIFY_SOCKET does not name the manager's socket.
void ReportState(ServiceState state);

// Reports to the service manager that the loop handles events, if the manager
// expects such a report in each period of WATCHDOG_USEC microseconds: twice in
// each period. A loop that hangs reports nothing, so the manager restarts the
// service. Loop thread only.
class ServiceWatchdog {
 public:
  // `loop` outlives this object.
  explicit ServiceWatchdog(EventLoop* loop);
  ~ServiceWatchdog();
  ServiceWatchdog(const ServiceWatchdog&) = delete;
  ServiceWatchdog& operator=(const ServiceWatchdog&) = delete;

 private:
  void Report();

  EventLoop* const loop_;
  int64_t interval_ns_ = 0;  // 0: the manager has requested nothing
  EventLoop::TimerId timer_ = 0;
};

}  // namespace canopy::agent

#endif  // CANOPY_SERVER_AGENT_BRING_UP_SERVICE_MANAGER_H_
