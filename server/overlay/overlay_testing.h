// Test only: members of one overlay in one process and thread, over real gRPC
// on loopback.
#ifndef CANOPY_SERVER_OVERLAY_OVERLAY_TESTING_H_
#define CANOPY_SERVER_OVERLAY_OVERLAY_TESTING_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "common/event_loop.h"
#include "common/ids.h"
#include "server/core/messages.h"
#include "server/overlay/grpc_overlay.h"
#include "server/ports/input_sink.h"

namespace canopy::overlay {

class FakeSink : public InputSink {
 public:
  void OnInput(core::Input input) override {
    if (auto* peer = std::get_if<core::PeerArrived>(&input)) {
      messages.push_back(std::move(peer->message));
      if (on_message) on_message(messages.back());
    } else if (auto* state = std::get_if<core::NodeStateChanged>(&input)) {
      states.push_back(*state);
    }
  }

  std::vector<core::PeerMessage> messages;
  std::vector<core::NodeStateChanged> states;
  std::function<void(const core::PeerMessage&)> on_message;
};

class TestCluster {
 public:
  struct Node {
    EventLoop loop;
    FakeSink sink;
    std::unique_ptr<TreeOverlay> overlay;
    std::vector<std::pair<NodeId, Status>> link_errors;
    std::vector<uint32_t> progress;
    int ready = 0;
    std::vector<std::string> expelled;
  };

  explicit TestCluster(uint32_t size, uint32_t radix = 2) {
    base_.radix = radix;
    base_.overlay_id = "test overlay";
    base_.security.mode = security::SecurityMode::kPlaintext;
    base_.security.key = *security::ClusterKey::FromHex(std::string(64, '7'));
    base_.grace_ms = 200;
    base_.join_timeout_ms = 20000;
    for (uint32_t i = 0; i < size; ++i) {
      base_.members.push_back({"node" + std::to_string(i), ""});
      nodes_.push_back(std::make_unique<Node>());
    }
  }

  OverlayConfig& base() { return base_; }
  // Returns the test's own loop.
  EventLoop& loop() { return loop_; }
  Node& node(NodeId id) { return *nodes_[id]; }
  TreeOverlay& overlay(NodeId id) { return *nodes_[id]->overlay; }
  uint32_t size() const { return static_cast<uint32_t>(nodes_.size()); }

  // Creates and starts a member on a free port; the others get its address.
  void Start(NodeId id,
             const std::function<void(OverlayConfig*)>& change = {}) {
    OverlayConfig config = base_;
    config.self = id;
    config.listen = "127.0.0.1:0";
    if (change) change(&config);
    Node* node = nodes_[id].get();
    OverlayEvents events;
    events.link_error = [node](NodeId peer, const Status& status) {
      node->link_errors.emplace_back(peer, status);
    };
    events.progress = [node](uint32_t up, uint32_t) {
      node->progress.push_back(up);
    };
    events.ready = [node] { ++node->ready; };
    events.expelled = [node](const std::string& reason) {
      node->expelled.push_back(reason);
    };
    node->overlay = MakeGrpcOverlay(&node->loop, &node->sink, config, events);
    const Status status = node->overlay->Listen();
    if (!status.ok()) abort();
    base_.members[id].address = node->overlay->address();
    for (auto& other : nodes_) {
      if (other->overlay == nullptr) continue;
      other->overlay->SetAddress(id, node->overlay->address());
      for (NodeId peer = 0; peer < size(); ++peer) {
        node->overlay->SetAddress(peer, base_.members[peer].address);
      }
    }
  }

  void StartAll(const std::function<void(OverlayConfig*)>& change = {}) {
    for (NodeId id = 0; id < size(); ++id) Start(id, change);
    for (NodeId id = 0; id < size(); ++id) overlay(id).Join();
  }

  // Destroys a member, which to the other members looks like a crash.
  void Kill(NodeId id) { nodes_[id]->overlay.reset(); }

  // Runs each loop once. Idle loops do not delay the others.
  void RunOnce() {
    loop_.RunOnce(1);
    for (auto& n : nodes_) n->loop.RunOnce(0);
  }

  // Runs the loops until `done` returns true, for at most `seconds`. Returns
  // the last result of `done`.
  bool WaitFor(const std::function<bool()>& done, int seconds = 20) {
    bool expired = false;
    const auto timer =
        loop_.AddTimer(seconds * int64_t{1000000000}, [&] { expired = true; });
    while (!expired && !done()) RunOnce();
    loop_.CancelTimer(timer);
    return done();
  }

  bool AllReady() {
    return WaitFor([this] {
      for (auto& n : nodes_) {
        if (n->overlay != nullptr && n->ready == 0) return false;
      }
      return true;
    });
  }

  ~TestCluster() {
    for (auto& n : nodes_) n->overlay.reset();
  }

 private:
  EventLoop loop_;
  OverlayConfig base_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_OVERLAY_TESTING_H_
