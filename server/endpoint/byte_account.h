// An account of the bytes that an endpoint holds for its clients: messages that
// have arrived in part, and answers that were not read.
#ifndef CANOPY_SERVER_ENDPOINT_BYTE_ACCOUNT_H_
#define CANOPY_SERVER_ENDPOINT_BYTE_ACCOUNT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

namespace canopy::endpoint {

// The client for which bytes are held, and the client's job, which has a limit
// of its own. All tools of a user count as one job.
struct ByteHolder {
  std::string job;  // empty: not identified, so nothing is charged
  std::string client;
};

// Returns the ByteHolder::job of the tools of a user.
inline std::string ToolsOf(uint32_t uid) {
  return "tools of user " + std::to_string(uid);
}

// The time for which a message that has arrived in part may make no progress.
// Large messages of a process that runs take well under a second.
inline constexpr int64_t kHalfMessageNs = int64_t{60} * 1000 * 1000 * 1000;

// Limits in bytes for one client, for one job, and for all clients of the
// endpoint.
struct ByteLimits {
  // A usual message has a few KiB and a large commit some MiB. With these
  // limits, a few ranks of each job send large messages at the same time; the
  // others wait. The first message of a client, of a job and of the endpoint is
  // accepted whatever its length, so no message is refused forever.
  size_t client = size_t{64} << 20;
  size_t job = size_t{256} << 20;
  size_t all = size_t{1} << 30;
};

// Used by one thread.
class ByteAccount {
 public:
  explicit ByteAccount(ByteLimits limits) : limits_(limits) {}

  // Charges a message of this length before it is held. Returns false, without
  // effect, if there is no room for it now. A job that holds nothing always has
  // room for one message, whatever other jobs hold.
  bool Charge(const ByteHolder& holder, size_t bytes);
  // Gives back the bytes that Charge has taken.
  void Release(const ByteHolder& holder, size_t bytes);

  // Replaces the number of bytes queued for one connection of the client, which
  // was `before`, by `now`. Returns the number for all connections of the
  // client.
  size_t SetQueued(const ByteHolder& holder, size_t before, size_t now);

  size_t held() const { return all_; }
  size_t HeldByJob(const std::string& job) const;

 private:
  using Counts = std::unordered_map<std::string, size_t>;
  static size_t Of(const Counts& counts, const std::string& key);
  static size_t Change(Counts* counts, const std::string& key, size_t less,
                       size_t more);

  const ByteLimits limits_;
  Counts clients_;  // bytes of unfinished messages; no count here is 0
  Counts jobs_;
  Counts queued_;  // by client
  size_t all_ = 0;
};

}  // namespace canopy::endpoint

#endif  // CANOPY_SERVER_ENDPOINT_BYTE_ACCOUNT_H_
