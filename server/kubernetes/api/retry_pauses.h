// The pauses between the attempts of a request.
#ifndef CANOPY_SERVER_KUBERNETES_API_RETRY_PAUSES_H_
#define CANOPY_SERVER_KUBERNETES_API_RETRY_PAUSES_H_

#include <cstdint>
#include <optional>
#include <random>

namespace canopy::kubernetes {

// Each pause is twice the previous one up to a limit, and shortened by a random
// part of up to a half, so that the agents of a cluster do not return to a
// restarted API server at the same moments. Times are in nanoseconds.
class RetryPauses {
 public:
  // The longest pause that a server can request by Retry-After.
  static constexpr int64_t kLongestRequestedNs = 300'000'000'000;

  RetryPauses(int64_t first_ns, int64_t longest_ns);

  // Returns the next pause. It is not shorter than `requested`, the pause that
  // the server has requested.
  int64_t Next(std::optional<int64_t> requested);
  // Called after a success.
  void Reset() { pause_ns_ = 0; }

 private:
  int64_t first_ns_;
  int64_t longest_ns_;
  int64_t pause_ns_ = 0;
  std::minstd_rand random_;
};

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_API_RETRY_PAUSES_H_
