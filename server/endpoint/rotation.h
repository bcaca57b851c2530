// Whose turn it is: connections that have something to be handled share the
// rounds of the loop.
#ifndef CANOPY_SERVER_ENDPOINT_ROTATION_H_
#define CANOPY_SERVER_ENDPOINT_ROTATION_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "common/event_loop.h"
#include "server/core/step/client_id.h"

namespace canopy::endpoint {

// A round that takes long delays the overlay's links, whose loss ends the jobs
// of others; a message may be cheap to send and expensive to handle, so that a
// limit on bytes alone does not bound a round.
struct Budget {
  size_t turn_bytes = size_t{256} << 10;  // read in one turn
  int64_t turn_ns = 500'000;              // of one connection
  int64_t round_ns = 2'000'000;           // of all connections of an endpoint
  // CLOCK_MONOTONIC in nanoseconds; tests replace it.
  std::function<int64_t()> now = &EventLoop::Now;
};

// One connection's turn. At least one message is handled in each. Its time is
// measured from the end of the first message, so that those with a single one,
// nearly all, need no clock.
class Turn {
 public:
  // `budget` outlives it.
  explicit Turn(const Budget& budget) : budget_(&budget) {}

  void Charge(size_t bytes) { bytes_ += bytes; }
  // To be asked between two messages.
  bool Spent();
  // What it counts for, in nanoseconds.
  int64_t cost() const;

 private:
  const Budget* budget_;
  int64_t start_ = 0;  // 0: the clock was not read
  int64_t last_ = 0;
  size_t bytes_ = 0;
};

// First come, first served: while connections wait for a turn, those that
// become ready queue up behind them. Loop thread only; the loop outlives it.
class Rotation {
 public:
  // Gives a connection that was queued its turn.
  using Serve = std::function<void(core::ClientId client, Turn& turn)>;

  Rotation(EventLoop* loop, Budget budget, Serve serve);
  ~Rotation();
  Rotation(const Rotation&) = delete;
  Rotation& operator=(const Rotation&) = delete;

  // A turn that begins now, when no connection waits for one and time is left
  // in this round. Nothing: the connection must be queued.
  std::optional<Turn> BeginTurn();
  // One that BeginTurn gave is over.
  void EndTurn(const Turn& turn) { spent_ += turn.cost(); }
  // Gives the connection a turn at the end of this round or in a later one.
  // Not to be called again before that turn.
  void Queue(core::ClientId client);

  size_t num_waiting() const { return waiting_.size(); }

 private:
  void Schedule();
  void ServeWaiting();

  EventLoop* const loop_;
  const Budget budget_;
  const Serve serve_;
  std::deque<core::ClientId> waiting_;
  bool scheduled_ = false;
  uint64_t round_ = UINT64_MAX;         // the last with a turn by BeginTurn
  int64_t spent_ = 0;                   // by such turns of that round
  uint64_t served_round_ = UINT64_MAX;  // the last of ServeWaiting
  std::shared_ptr<Rotation*> self_;     // cleared when this goes
};

}  // namespace canopy::endpoint

#endif  // CANOPY_SERVER_ENDPOINT_ROTATION_H_
