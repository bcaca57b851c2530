// Limits the lines of a log that peers and processes can cause.
#ifndef CANOPY_SERVER_NET_LOG_GATE_H_
#define CANOPY_SERVER_NET_LOG_GATE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "server/net/line_limit.h"

namespace canopy::net {

// Each kind of line has an allowance (LineLimit), so any number of lines of one
// kind leaves room for the others in a log of limited size. Lines that the
// processes of a user have caused have allowances of their own: one for each
// kind, and one for all of them. So a user shuts out neither the lines of other
// users nor those of the agent. Pure state; times are nanoseconds of one
// monotonic clock.
class LogGate {
 public:
  // The burst of each kind. The loss of many nodes is logged for each of them.
  static constexpr int64_t kBurst = 256;
  // The burst of all lines of one user.
  static constexpr int64_t kBurstOfUser = 2 * kBurst;
  // The number of users with allowances of their own; further users share one.
  static constexpr size_t kMaxUsers = 64;

  LogGate() : limit_(kBurst) {}

  // Returns the kind of a line: its first four words, in which names are
  // replaced by '#'. Names are words in quotation marks, and words that contain
  // a digit, or a colon before their end.
  static std::string KindOf(std::string_view text);

  // Returns the line to log; no value if the line is suppressed. The next line
  // of the kind that is not suppressed reports the number of suppressed lines.
  // `uid` is the user whose process has caused the line, if it is a user's.
  std::optional<std::string> Admit(std::string text, int64_t now,
                                   std::optional<uint32_t> uid = {});

 private:
  // The allowances of one user.
  struct User {
    LineLimit kinds{kBurst};
    LineLimit all{kBurstOfUser};
    int64_t last = 0;  // time of the last line
  };

  User& UserOf(uint32_t uid, int64_t now);

  LineLimit limit_;
  std::map<uint32_t, User> users_;
  User further_;  // users beyond kMaxUsers
};

}  // namespace canopy::net

#endif  // CANOPY_SERVER_NET_LOG_GATE_H_
