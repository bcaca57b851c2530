// Finds the successor of this process's agent.
#ifndef CANOPY_CLIENT_SESSION_SUCCESSOR_SEARCH_H_
#define CANOPY_CLIENT_SESSION_SUCCESSOR_SEARCH_H_

#include <atomic>
#include <cstdint>
#include <optional>

#include "client/session/bootstrap.h"
#include "common/status.h"

namespace canopy::client {

// As ConnectToAgent. An agent that is away, because it is being restarted while
// this process starts, is awaited for `environment.reattach_ms`.
Result<Bootstrap> ConnectAtStart(const Environment& environment);

// Threads: Find and Accept by one thread at a time, all else by any.
class SuccessorSearch {
 public:
  // `limit_ms`: how long to search for a successor; 0: there is none to be
  // expected. `epoch`: the agent's incarnation.
  SuccessorSearch(Environment environment, uint32_t limit_ms, uint64_t epoch);

  // Whether a successor is to be expected when the agent is gone.
  bool expected() const { return limit_ms_.load() > 0; }
  // The agent announced a handover, and how long to search.
  void SetLimit(uint32_t limit_ms) { limit_ms_ = limit_ms; }
  // The session ends: nothing is found from here on, and a search in progress
  // ends within one attempt.
  void Stop() { stopped_ = true; }

  // Connects to a successor. Blocks until there is one or the limit has
  // passed. Nothing: none is expected or none came, it refused this process, or
  // it is the agent that has just closed the connection.
  std::optional<Bootstrap> Find();
  // The process has reattached to this one.
  void Accept(const Bootstrap& successor);

 private:
  const Environment environment_;
  std::atomic<uint32_t> limit_ms_;
  uint64_t epoch_;
  std::atomic<bool> stopped_{false};
};

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_SUCCESSOR_SEARCH_H_
