#include "server/log/syslog.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>

#include <cerrno>
#include <utility>

#include "common/status.h"
#include "common/text.h"

namespace canopy::log {
namespace {

// Returns a line in the format that daemons accept from local programs:
// <PRI>TIME TAG: TEXT.
std::string LineOf(const SyslogText& text, uint32_t uid) {
  tm parts = {};
  char time[32] = "";
  if (localtime_r(&text.time, &parts) != nullptr) {
    strftime(time, sizeof time, "%b %e %H:%M:%S ", &parts);
  }
  return "<" + std::to_string(LOG_USER | text.priority) + ">" + time +
         "canopy: " + Printable(ToString(text.proc)) + " (user " +
         std::to_string(uid) + "): " + Printable(text.text);
}

}  // namespace

Syslog::Syslog(Options options) : options_(std::move(options)) {}

int Syslog::Put(const SyslogText& text) {
  if (text.text.size() > kMaxSyslogText || !Take(text.proc)) {
    return kErrOutOfResource;
  }
  return Send(LineOf(text, options_.uid_of(text.proc.nspace)));
}

void Syslog::DropJob(const std::string& nspace) { allowances_.erase(nspace); }

bool Syslog::Take(const ProcId& proc) {
  const int64_t now = options_.now_ns();
  const net::LineAllowance all({kSyslogBurst, kSyslogRate}, now);
  return allowances_[proc.nspace]
      .try_emplace(proc.rank, all)
      .first->second.Take(now);
}

bool Syslog::Connect() {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (options_.path.size() >= sizeof address.sun_path) return false;
  options_.path.copy(address.sun_path, sizeof address.sun_path - 1);
  socket_ =
      UniqueFd(socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket_ &&
      connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address),
              sizeof address) == 0) {
    return true;
  }
  socket_ = UniqueFd();
  return false;
}

// Sends a line. A daemon that was restarted has another socket, so a failed
// send is retried.
int Syslog::Send(const std::string& line) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (!socket_ && !Connect()) return kErrNotSupported;
    if (send(socket_.get(), line.data(), line.size(), MSG_NOSIGNAL) >= 0) {
      return kSuccess;
    }
    if (errno == EAGAIN || errno == ENOBUFS || errno == EMSGSIZE) {
      return kErrOutOfResource;
    }
    socket_ = UniqueFd();
  }
  return kErrNotSupported;
}

}  // namespace canopy::log
