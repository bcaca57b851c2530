// Limits the rate of log lines that peers can cause.
#ifndef CANOPY_SERVER_NET_LINE_LIMIT_H_
#define CANOPY_SERVER_NET_LINE_LIMIT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "server/net/line_allowance.h"

namespace canopy::net {

// Each source has an allowance of lines: a burst, then one line in each second.
// Sources beyond kMaxSources share one allowance. Pure state; times are
// nanoseconds of one monotonic clock.
class LineLimit {
 public:
  static constexpr int64_t kBurst = 32;
  static constexpr size_t kMaxSources = 64;

  explicit LineLimit(int64_t burst = kBurst) : burst_(burst) {}

  // Returns the line to log for `text`, which concerns `source`; no value if
  // the line is suppressed. The next line that is not suppressed reports the
  // number of suppressed lines.
  std::optional<std::string> Admit(const std::string& source, std::string text,
                                   int64_t now);

 private:
  struct Lines {
    LineAllowance allowance;
    uint64_t left_out = 0;
  };

  Lines& LinesOf(const std::string& source, int64_t now);

  const int64_t burst_;
  std::map<std::string, Lines> sources_;
};

}  // namespace canopy::net

#endif  // CANOPY_SERVER_NET_LINE_LIMIT_H_
