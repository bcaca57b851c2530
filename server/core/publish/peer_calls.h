// Requests of this agent to others that are answered by DirectoryAnswer.
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

// A request is repeated when messages may have been lost, so whoever serves it
// must bear that. One that is for a lost agent ends with kErrUnreach. Not
// synchronised.
class PeerCalls {
 public:
  // Called once, unless this object ends before, and never from within Ask.
  using Done = std::function<void(PublishStep&, int status)>;

  // The tree outlives it.
  explicit PeerCalls(const Tree& tree) : tree_(tree) {}

  // Numbers start at this time, so that no late answer to a predecessor's
  // request matches.
  void set_began(TimeNs when) { next_ += static_cast<uint64_t>(when); }
  // For requests that are answered otherwise.
  uint64_t NextNumber() { return next_++; }

  // `body.request` is set here, and returned. To this agent itself, too.
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
  // The answer is of no interest any more: `done` is not called.
  void Forget(uint64_t request) { calls_.erase(request); }
  void OnAnswer(PublishStep& step, NodeId src, const DirectoryAnswer& answer);
  void OnNodeLost(PublishStep& step, NodeId node);
  // Messages may have been lost.
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

// Calls `done` when all that hold it have let go: for several requests, after
// which one thing happens.
class Countdown {
 public:
  using Done = std::function<void(PublishStep&)>;

  explicit Countdown(Done done) : done_(std::move(done)) {}
  // Before the first request, so that it does not end between two of them.
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
