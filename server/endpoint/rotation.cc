#include "server/endpoint/rotation.h"

#include <algorithm>
#include <utility>

namespace canopy::endpoint {
namespace {

// A turn that was not measured counts as a round divided by this number.
constexpr int64_t kTurnsInRound = 64;

}  // namespace

bool Turn::Spent() {
  last_ = budget_->now();
  if (start_ == 0) start_ = last_;
  return bytes_ >= budget_->turn_bytes || last_ - start_ >= budget_->turn_ns;
}

int64_t Turn::cost() const {
  return std::max(last_ - start_, budget_->round_ns / kTurnsInRound);
}

Rotation::Rotation(EventLoop* loop, Budget budget, Serve serve)
    : loop_(loop),
      budget_(std::move(budget)),
      serve_(std::move(serve)),
      self_(std::make_shared<Rotation*>(this)) {}

Rotation::~Rotation() { *self_ = nullptr; }

std::optional<Turn> Rotation::BeginTurn() {
  if (!waiting_.empty()) return std::nullopt;
  if (std::exchange(round_, loop_->round()) != loop_->round()) spent_ = 0;
  if (spent_ >= budget_.round_ns) return std::nullopt;
  return Turn(budget_);
}

void Rotation::Queue(core::ClientId client) {
  waiting_.push_back(client);
  if (!std::exchange(scheduled_, true)) Schedule();
}

void Rotation::Schedule() {
  loop_->Defer([self = self_] {
    if (*self != nullptr) (*self)->ServeWaiting();
  });
}

// Runs at most once in a round, with at most one turn for each connection that
// waits now. A connection that needs more queues up again, behind connections
// that have arrived meanwhile.
void Rotation::ServeWaiting() {
  if (served_round_ == loop_->round()) return Schedule();
  served_round_ = loop_->round();
  int64_t spent = 0;
  for (size_t left = waiting_.size(); left > 0 && spent < budget_.round_ns;
       --left) {
    const core::ClientId client = waiting_.front();
    waiting_.pop_front();
    Turn turn(budget_);
    serve_(client, turn);
    spent += turn.cost();
  }
  scheduled_ = !waiting_.empty();
  if (scheduled_) Schedule();
}

}  // namespace canopy::endpoint
