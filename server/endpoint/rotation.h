// Assigns turns: connections with messages to handle share the rounds of the
// loop.
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

// Limits of the work in one turn and in one round. A round that takes long
// delays the overlay's links, and a link that is lost for that reason ends
// other users' jobs. A message may be cheap to send and expensive to handle, so
// a limit on bytes alone would not bound a round.
struct Budget {
  size_t turn_bytes = size_t{256} << 10;  // read in one turn
  int64_t turn_ns = 500'000;              // in one turn
  int64_t round_ns = 2'000'000;           // by all connections of an endpoint
  // Returns CLOCK_MONOTONIC in nanoseconds; tests replace it.
  std::function<int64_t()> now = &EventLoop::Now;
};

// One connection's turn. Each turn handles at least one message. Time is
// measured from the end of the first message, so that turns with a single
// message, which are nearly all, need no clock.
class Turn {
 public:
  // `budget` must outlive this object.
  explicit Turn(const Budget& budget) : budget_(&budget) {}

  // Counts bytes that were read in this turn.
  void Charge(size_t bytes) { bytes_ += bytes; }
  // Returns true if the turn's budget is used up. Called between two messages.
  bool Spent();
  // Returns the time that the turn counts for, in nanoseconds.
  int64_t cost() const;

 private:
  const Budget* budget_;
  int64_t start_ = 0;  // 0: the clock was not read
  int64_t last_ = 0;
  size_t bytes_ = 0;
};

// First come, first served: while connections wait for a turn, connections that
// become ready queue up behind them. Loop thread only; the loop must outlive
// this object.
class Rotation {
 public:
  // Gives a queued connection its turn.
  using Serve = std::function<void(core::ClientId client, Turn& turn)>;

  Rotation(EventLoop* loop, Budget budget, Serve serve);
  ~Rotation();
  Rotation(const Rotation&) = delete;
  Rotation& operator=(const Rotation&) = delete;

  // Returns a turn that begins now if no connection waits and time is left in
  // this round. Otherwise returns no value, and the caller queues the
  // connection.
  std::optional<Turn> BeginTurn();
  // Ends a turn that BeginTurn returned.
  void EndTurn(const Turn& turn) { spent_ += turn.cost(); }
  // Gives the connection a turn at the end of this round or in a later one.
  // Must not be called again before that turn.
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
  uint64_t round_ = UINT64_MAX;  // the last round with a turn by BeginTurn
  int64_t spent_ = 0;            // time of these turns in `round_`
  uint64_t served_round_ = UINT64_MAX;  // the last round of ServeWaiting
  std::shared_ptr<Rotation*> self_;     // cleared by the destructor
};

}  // namespace canopy::endpoint

#endif  // CANOPY_SERVER_ENDPOINT_ROTATION_H_
