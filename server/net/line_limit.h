// Log lines about peers, which peers may not repeat at will.
#ifndef CANOPY_SERVER_NET_LINE_LIMIT_H_
#define CANOPY_SERVER_NET_LINE_LIMIT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace canopy::net {

// An allowance of lines for each source: a burst, and then one in each second.
// Sources beyond a number of them share one allowance. Pure state; times are
// nanoseconds of one monotonic clock.
class LineLimit {
 public:
  static constexpr int64_t kBurst = 32;
  static constexpr size_t kMaxSources = 64;

  // What to log of `text`, about `source`; nothing: the line is left out. A line
  // that follows others which were left out says how many.
  std::optional<std::string> Admit(const std::string& source, std::string text,
                                   int64_t now);

 private:
  struct Allowance {
    int64_t lines = kBurst;
    int64_t since = 0;  // `lines` is right for this time
    uint64_t left_out = 0;
  };

  Allowance& AllowanceOf(const std::string& source, int64_t now);

  std::map<std::string, Allowance> allowances_;
};

}  // namespace canopy::net

#endif  // CANOPY_SERVER_NET_LINE_LIMIT_H_
