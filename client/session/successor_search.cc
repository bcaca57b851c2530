#include "client/session/successor_search.h"

#include <chrono>
#include <thread>
#include <utility>

#include "common/status.h"

namespace canopy::client {
namespace {

using Clock = std::chrono::steady_clock;

// A successor listens a few milliseconds after its predecessor has ended. Until
// then an attempt is only a failed connect, which is cheap.
constexpr std::chrono::milliseconds kBetweenAttempts{10};

}  // namespace

Result<Bootstrap> ConnectAtStart(const Environment& environment) {
  const auto deadline =
      Clock::now() + std::chrono::milliseconds(environment.reattach_ms);
  for (;;) {
    Result<Bootstrap> agent = ConnectToAgent(environment);
    if (agent.ok() || agent.code() != kErrUnreach || Clock::now() >= deadline) {
      return agent;
    }
    std::this_thread::sleep_for(kBetweenAttempts);
  }
}

SuccessorSearch::SuccessorSearch(Environment environment, uint32_t limit_ms,
                                 uint64_t epoch)
    : environment_(std::move(environment)),
      limit_ms_(limit_ms),
      epoch_(epoch) {}

std::optional<Bootstrap> SuccessorSearch::Find() {
  if (!expected()) return std::nullopt;
  const auto deadline =
      Clock::now() + std::chrono::milliseconds(limit_ms_.load());
  while (!stopped_) {
    Result<Bootstrap> next = ConnectToAgent(environment_);
    if (next.ok()) {
      if (next->epoch == epoch_) return std::nullopt;
      return std::move(next).value();
    }
    // An agent that refuses this process does not have its job, so it is not a
    // successor.
    if (next.code() != kErrUnreach) return std::nullopt;
    if (Clock::now() >= deadline) return std::nullopt;
    std::this_thread::sleep_for(kBetweenAttempts);
  }
  return std::nullopt;
}

void SuccessorSearch::Accept(const Bootstrap& successor) {
  limit_ms_ = successor.reattach_ms;
  epoch_ = successor.epoch;
}

}  // namespace canopy::client
