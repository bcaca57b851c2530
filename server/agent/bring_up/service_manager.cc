#include "server/agent/bring_up/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "common/posix/unique_fd.h"

namespace canopy::agent {

namespace {

// A shorter period would only cost time.
constexpr int64_t kMinWatchdogUs = 100000;

std::string_view TextOf(ServiceState state) {
  switch (state) {
    case ServiceState::kReady:
      return "READY=1";
    case ServiceState::kReloading:
      return "RELOADING=1";
    case ServiceState::kStopping:
      return "STOPPING=1";
  }
  return "";
}

void Send(std::string_view text) {
  const char* const variable = std::getenv("NOTIFY_SOCKET");
  const std::string_view path = variable == nullptr ? "" : variable;
  sockaddr_un address = {};
  if (path.empty() || path.size() >= sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  // The notation for a socket without a file.
  if (path[0] == '@') address.sun_path[0] = '\0';
  const UniqueFd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sendto(fd.get(), text.data(), text.size(), MSG_NOSIGNAL,
         reinterpret_cast<const sockaddr*>(&address),
         static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size()));
}

// Returns the period that the service manager has set for this process, in
// microseconds, or 0.
int64_t WatchdogPeriod() {
  const char* const process = std::getenv("WATCHDOG_PID");
  const char* const period = std::getenv("WATCHDOG_USEC");
  if (period == nullptr) return 0;
  if (process != nullptr && process != std::to_string(getpid())) return 0;
  const int64_t us = std::atoll(period);
  return us <= 0 ? 0 : std::max(us, kMinWatchdogUs);
}

}  // namespace

void ReportState(ServiceState state) { Send(TextOf(state)); }

ServiceWatchdog::ServiceWatchdog(EventLoop* loop)
    : loop_(loop), interval_ns_(WatchdogPeriod() * 1000 / 2) {
  if (interval_ns_ > 0) Report();
}

ServiceWatchdog::~ServiceWatchdog() {
  if (interval_ns_ > 0) loop_->CancelTimer(timer_);
}

void ServiceWatchdog::Report() {
  Send("WATCHDOG=1");
  timer_ = loop_->AddTimer(interval_ns_, [this] { Report(); });
}

}  // namespace canopy::agent
