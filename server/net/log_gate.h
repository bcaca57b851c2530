// Limits the lines of a log that peers and processes can cause.
#ifndef CANOPY_SERVER_NET_LOG_GATE_H_
#define CANOPY_SERVER_NET_LOG_GATE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/net/line_limit.h"

namespace canopy::net {

// Each kind of line has an allowance (LineLimit), so any number of lines of one
// kind leaves room for the others in a log of limited size. Pure state; times
// are nanoseconds of one monotonic clock.
class LogGate {
 public:
  // The burst of each kind. The loss of many nodes is logged for each of them.
  static constexpr int64_t kBurst = 256;

  LogGate() : limit_(kBurst) {}

  // Returns the kind of a line: its first four words, in which names are
  // replaced by '#'. Names are words in quotation marks, and words that contain
  // a digit, or a colon before their end.
  static std::string KindOf(std::string_view text);

  // Returns the line to log; no value if the line is suppressed. The next line
  // of the kind that is not suppressed reports the number of suppressed lines.
  std::optional<std::string> Admit(std::string text, int64_t now);

 private:
  LineLimit limit_;
};

}  // namespace canopy::net

#endif  // CANOPY_SERVER_NET_LOG_GATE_H_
