// The syslog of this node, for texts of processes.
#ifndef CANOPY_SERVER_LOG_SYSLOG_H_
#define CANOPY_SERVER_LOG_SYSLOG_H_

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <map>
#include <string>

#include "common/ids.h"
#include "common/posix/unique_fd.h"
#include "server/net/line_allowance.h"

namespace canopy::log {

struct SyslogText {
  ProcId proc;       // process that logs the text
  int priority = 0;  // 0 to 7
  time_t time = 0;
  std::string text;
};

// Sends a text to the syslog. Returns a PMIx status without blocking.
using PutSyslog = std::function<int(const SyslogText&)>;

// The limit of a text, in bytes. Longer texts are rejected, because daemons
// truncate lines at about this length.
inline constexpr size_t kMaxSyslogText = size_t{8} << 10;
// The number of lines that one process may log in a burst, and the number of
// lines per second after that.
inline constexpr int64_t kSyslogBurst = 100;
inline constexpr int64_t kSyslogRate = 10;

// Loop thread only; never waits for the daemon.
class Syslog {
 public:
  struct Options {
    std::string path = "/dev/log";
    // Returns the user that a job runs as.
    std::function<uint32_t(const std::string& nspace)> uid_of;
    // Returns the time of a monotonic clock in nanoseconds.
    std::function<int64_t()> now_ns;
  };
  explicit Syslog(Options options);

  // Sends one line with the facility "user", in which control characters are
  // escaped and the process and its user are named. Returns kErrNotSupported if
  // there is no daemon, and kErrOutOfResource if the text is longer than
  // kMaxSyslogText, the daemon has no room, or the process logs too much.
  int Put(const SyslogText& text);
  // Forgets how much the job's processes have logged.
  void DropJob(const std::string& nspace);

 private:
  bool Take(const ProcId& proc);
  bool Connect();
  int Send(const std::string& line);

  const Options options_;
  UniqueFd socket_;
  std::map<std::string, std::map<Rank, net::LineAllowance>> allowances_;
};

}  // namespace canopy::log

#endif  // CANOPY_SERVER_LOG_SYSLOG_H_
