// Finds the successor of this process's agent.
#ifndef CANOPY_CLIENT_SESSION_SUCCESSOR_SEARCH_H_
#define CANOPY_CLIENT_SESSION_SUCCESSOR_SEARCH_H_

#include <atomic>
#include <cstdint>
#include <optional>

#include "client/session/bootstrap.h"
#include "common/status.h"

namespace canopy::client {

// Connects like ConnectToAgent. Waits up to `environment.reattach_ms` for an
// agent that is being restarted while this process starts.
Result<Bootstrap> ConnectAtStart(const Environment& environment);

// Threads: one thread at a time calls Find and Accept; any thread may call the
// other functions.
class SuccessorSearch {
 public:
  // `limit_ms` is the time to search for a successor; 0 means that no successor
  // is expected. `epoch` is the agent's incarnation.
  SuccessorSearch(Environment environment, uint32_t limit_ms, uint64_t epoch);

  // Returns true if a successor is expected when the agent is gone.
  bool expected() const { return limit_ms_.load() > 0; }
  // Sets the time to search, which the agent announced with a handover.
  void SetLimit(uint32_t limit_ms) { limit_ms_ = limit_ms; }
  // Called when the session ends: Find returns no value from now on, and a
  // search in progress ends within one attempt.
  void Stop() { stopped_ = true; }

  // Connects to a successor. Blocks until there is one or the limit has passed.
  // Returns no value if no successor is expected or has come, if the search was
  // stopped, if the successor refused this process, or if the search finds the
  // same agent, which has only closed the connection.
  std::optional<Bootstrap> Find();
  // Records that the process has reattached to this successor.
  void Accept(const Bootstrap& successor);

 private:
  const Environment environment_;
  std::atomic<uint32_t> limit_ms_;
  uint64_t epoch_;
  std::atomic<bool> stopped_{false};
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_SUCCESSOR_SEARCH_H_
