// Limits the rate of log lines that peers can cause.
#ifndef CANOPY_SERVER_NET_LINE_LIMIT_H_
#define CANOPY_SERVER_NET_LINE_LIMIT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace canopy::net {

inline constexpr int64_t kSecondNs = 1'000'000'000;

// Each source has an allowance of lines: a burst of kBurst, then one line in
// each second. Sources beyond kMaxSources share one allowance. Pure state;
// times are nanoseconds of one monotonic clock.
class LineLimit {
 public:
  static constexpr int64_t kBurst = 32;
  static constexpr size_t kMaxSources = 64;

  // Returns the line to log for `text`, which concerns `source`; no value if
  // the line is suppressed. The next line that is not suppressed reports how
  // many lines were.
  std::optional<std::string> Admit(const std::string& source, std::string text,
                                   int64_t now);

 private:
  struct Allowance {
    int64_t lines = kBurst;
    int64_t since = 0;  // the time at which `lines` was computed
    uint64_t left_out = 0;
  };

  Allowance& AllowanceOf(const std::string& source, int64_t now);

  std::map<std::string, Allowance> allowances_;
};

}  // namespace canopy::net

#endif  // CANOPY_SERVER_NET_LINE_LIMIT_H_
