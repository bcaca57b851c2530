// Requests of this agent to other agents, which answer with DirectoryAnswer.
#ifndef CANOPY_SERVER_CORE_PUBLISH_PEER_CALLS_H_
#define CANOPY_SERVER_CORE_PUBLISH_PEER_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "common/ids.h"
#include "common/status.h"
#include "server/core/messages.h"
#include "server/core/publish/publish_step.h"
#include "server/core/step/clock.h"
#include "server/core/tree.h"

namespace canopy::core {

// Requests are sent again whenever messages may have been lost, so their
// handlers must be idempotent. A request to a lost agent ends with kErrUnreach.
// Not synchronised.
class PeerCalls {
 public:
  // Called once with the result, and never from within Ask; not called if this
  // object is destroyed first.
  using Done = std::function<void(PublishStep&, int status)>;

  // The tree must outlive this object.
  explicit PeerCalls(const Tree& tree) : tree_(tree) {}

  // Starts the numbering at the time of this agent's start, so that a late
  // answer to a predecessor's request matches no request of this agent.
  void set_began(TimeNs when) { next_ += static_cast<uint64_t>(when); }
  // Returns a number for a request whose answer is a message other than
  // DirectoryAnswer.
  uint64_t NextNumber() { return next_++; }

  // Sends `body` with `body.request` set to a new number, which is returned.
  // `to` may be this agent.
  template <typename Body>
  uint64_t Ask(PublishStep& step, NodeId to, Body body, Done done) {
    const uint64_t request = body.request = NextNumber();
    if (!tree_.alive(to)) {
      calls_[request] = {step.self, DirectoryAnswer{}, std::move(done)};
      step.Send(step.self, DirectoryAnswer{request, kErrUnreach});
      return request;
    }
    calls_[request] = {to, body, std::move(done)};
    step.Send(to, std::move(body));
    return request;
  }
  // Cancels the request: `done` will not be called.
  void Forget(uint64_t request) { calls_.erase(request); }
  void OnAnswer(PublishStep& step, NodeId src, const DirectoryAnswer& answer);
  void OnNodeLost(PublishStep& step, NodeId node);
  // Sends all pending requests again, after messages may have been lost.
  void SendAgain(PublishStep& step) const;

  size_t size() const { return calls_.size(); }

 private:
  struct Call {
    NodeId to = kNoNode;
    MessageBody body;
    Done done;
  };

  const Tree& tree_;
  std::map<uint64_t, Call> calls_;
  uint64_t next_ = 1;
};

// Calls `done` when all pending requests of a set have ended.
class Countdown {
 public:
  using Done = std::function<void(PublishStep&)>;

  explicit Countdown(Done done) : done_(std::move(done)) {}
  // The caller has a share of its own, which keeps the countdown from ending
  // before all requests have been added; the caller releases the share by End.
  static std::shared_ptr<Countdown> Begin(Done done) {
    auto countdown = std::make_shared<Countdown>(std::move(done));
    countdown->left_ = 1;
    return countdown;
  }
  void Add() { ++left_; }
  void End(PublishStep& step) {
    if (--left_ == 0) done_(step);
  }

 private:
  Done done_;
  size_t left_ = 0;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_PUBLISH_PEER_CALLS_H_
