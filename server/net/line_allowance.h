// The allowance of log lines for one source or kind of lines.
#ifndef CANOPY_SERVER_NET_LINE_ALLOWANCE_H_
#define CANOPY_SERVER_NET_LINE_ALLOWANCE_H_

#include <cstdint>

namespace canopy::net {

// A burst of lines, and then a number of lines in each second. Lines that are
// not used are saved until the whole burst is available again. Pure state;
// times are nanoseconds of one monotonic clock.
class LineAllowance {
 public:
  struct Rate {
    int64_t burst = 0;
    int64_t per_second = 1;
  };

  LineAllowance(Rate rate, int64_t now)
      : rate_(rate), lines_(rate.burst), since_(now) {}

  // Consumes one line. Returns false if none is left.
  bool Take(int64_t now);

  // Returns true if the whole burst is available again.
  bool IsFull(int64_t now) const;

 private:
  Rate rate_;
  int64_t lines_;  // those available at `since_`
  int64_t since_;
};

}  // namespace canopy::net

#endif  // CANOPY_SERVER_NET_LINE_ALLOWANCE_H_
