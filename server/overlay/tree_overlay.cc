#include "server/overlay/tree_overlay.h"

#include <time.h>

#include <algorithm>
#include <utility>

#include "server/overlay/compatibility.h"
#include "server/overlay/neighbor.h"

namespace canopy::overlay {
namespace {

constexpr int64_t kMs = 1000000;
// What is left of messages that lost pieces with a member is dropped after
// this long without a new one.
constexpr int64_t kSweepNs = 30000 * kMs;

uint64_t ClockIncarnation() {
  timespec ts;
  clock_gettime(CLOCK_REALTIME, &ts);
  return static_cast<uint64_t>(ts.tv_sec) * 1000000000 +
         static_cast<uint64_t>(ts.tv_nsec);
}

Identity MakeIdentity(const OverlayConfig& config) {
  Identity identity;
  identity.self = config.self;
  identity.members = static_cast<uint32_t>(config.members.size());
  identity.name = config.members[config.self].name;
  identity.incarnation =
      config.incarnation != 0 ? config.incarnation : ClockIncarnation();
  identity.overlay_id = config.overlay_id;
  identity.version = config.version;
  identity.oldest_version = config.oldest_version;
  identity.key = config.security.key;
  identity.recovered = config.recovered;
  return identity;
}

}  // namespace

TreeOverlay::TreeOverlay(EventLoop* loop, InputSink* sink, Transport* transport,
                         const OverlayConfig& config, OverlayEvents events)
    : loop_(loop),
      sink_(sink),
      transport_(transport),
      config_(config),
      events_(std::move(events)),
      identity_(MakeIdentity(config)),
      table_(identity_.members),
      tree_(identity_.members, config.radix),
      reported_down_(identity_.members),
      redial_ms_(config.redial_min_ms),
      reassembly_(config.message_limit_bytes) {
  for (const Member& m : config_.members) addresses_.push_back(m.address);
  table_.Merge({config_.self, identity_.incarnation, true, "", ""});
}

TreeOverlay::~TreeOverlay() { Stop(); }

std::function<void()> TreeOverlay::Guard(std::function<void()> work) {
  return [alive = std::weak_ptr<int>(life_), work = std::move(work)] {
    if (!alive.expired()) work();
  };
}

void TreeOverlay::SetOwnAddress(const std::string& address) {
  identity_.address = address;
  table_.SetAddress(config_.self, address);
}

void TreeOverlay::SetAddress(NodeId node, std::string address) {
  addresses_[node] = std::move(address);
}

void TreeOverlay::Join() {
  if (state_ != State::kIdle) return;
  state_ = State::kJoined;
  ScheduleReconcile();
}

void TreeOverlay::Stop() {
  state_ = State::kStopped;
  life_.reset();
  for (EventLoop::TimerId* timer :
       {&redial_timer_, &probe_timer_, &sweep_timer_, &leave_timer_}) {
    if (*timer != 0) loop_->CancelTimer(std::exchange(*timer, 0));
  }
  while (!neighbors_.empty()) Drop(neighbors_.begin()->first);
  client_handshake_.reset();
  farewells_.clear();
  server_handshakes_.clear();
}

// ------------------------------------------------------------ reconciling ---

void TreeOverlay::ScheduleReconcile() {
  if (state_ == State::kStopped) return;
  if (std::exchange(reconcile_scheduled_, true)) return;
  loop_->Defer(Guard([this] {
    reconcile_scheduled_ = false;
    Reconcile();
  }));
}

void TreeOverlay::Reconcile() {
  ReportProgress();
  // The last link may have ended because its other end left too.
  if (state_ == State::kLeaving) return CheckLeft();
  if (state_ != State::kJoined) return;
  const NodeId parent = tree_.parent(config_.self);
  if (client_handshake_ != nullptr && client_handshake_->expected() != parent &&
      parent != kNoNode) {
    client_handshake_.reset();
  }
  if (parent != kNoNode) {
    const NeighborRef up = Get(parent);
    up->retiring = false;
    if (up->stream == nullptr) {
      Await(up);
      Dial(up);
    }
  } else if (config_.self != 0) {
    ProbeLater();
  }
  AwaitChildren();
  const bool linked = parent == kNoNode || Get(parent)->stream != nullptr;
  const auto all = neighbors_;
  for (const auto& [id, neighbor] : all) {
    if (Expected(id)) continue;
    if (neighbor->stream == nullptr) {
      auto packets = neighbor->link.TakeUnsent(false);
      Drop(id);
      Reroute(std::move(packets), kNoNode);
    } else if (id < config_.self && linked) {
      Retire(neighbor);
    }
  }
  Reroute(std::exchange(unroutable_, {}), kNoNode);
}

void TreeOverlay::AwaitChildren() {
  for (const NodeId child : tree_.children(config_.self)) {
    const NeighborRef neighbor = Get(child);
    if (neighbor->stream == nullptr) Await(neighbor);
  }
}

void TreeOverlay::ReportProgress() {
  const uint32_t up = table_.up_count();
  if (std::exchange(reported_up_, up) != up && events_.progress) {
    events_.progress(up, table_.size());
  }
  if (up == table_.size() && state_ == State::kJoined &&
      !std::exchange(reported_ready_, true) && events_.ready) {
    events_.ready();
  }
}

void TreeOverlay::ReportLinkError(NodeId node, int code,
                                  const std::string& text) {
  std::string& last = link_errors_[node];
  if (last == text) return;
  last = text;
  if (events_.link_error) events_.link_error(node, Status(code, text));
}

// ---------------------------------------------------------------- members ---

void TreeOverlay::Merge(const MemberState& state, NodeId from) {
  if (state.node >= table_.size()) return;
  if (state.node == config_.self) return MergeSelf(state);
  const bool was_up = table_.Up(state.node);
  if (!table_.Merge(state)) return;
  for (const auto& [id, neighbor] : neighbors_) {
    if (id == from || neighbor->stream == nullptr) continue;
    neighbor->dirty.insert(state.node);
    ScheduleFlush(neighbor);
  }
  if (!state.up) {
    tree_.SetAlive(state.node, false);
    Lost(state.node, state.reason);
  } else if (was_up && state.recovered) {
    Restarted(state);
  } else {
    if (was_up) Lost(state.node, "the agent was restarted");
    Returned(state);
  }
  ScheduleReconcile();
}

void TreeOverlay::MergeSelf(const MemberState& state) {
  if (state.incarnation < identity_.incarnation) return;
  if (!state.up) {
    Rejoin(state.reason);
  } else if (state.incarnation > identity_.incarnation) {
    ReportLinkError(config_.self, kErrExists,
                    "another agent runs as " + identity_.name + ", node " +
                        std::to_string(config_.self));
  }
}

void TreeOverlay::Lost(NodeId node, const std::string& reason) {
  std::vector<Packet> packets;
  if (const NeighborRef neighbor = Find(node)) {
    packets = neighbor->link.TakeUnsent(false);
    Expel(neighbor);
    Drop(node);
  }
  reassembly_.DropSource(node);
  if (sweep_timer_ == 0) {
    sweep_timer_ = loop_->AddTimer(kSweepNs, Guard([this] {
                                     sweep_timer_ = 0;
                                     reassembly_.Sweep();
                                   }));
  }
  std::erase_if(packets, [node](const Packet& p) { return p.target == node; });
  Reroute(std::move(packets), kNoNode);
  if (reported_down_[node]) return;
  reported_down_[node] = true;
  sink_->OnInput(core::NodeStateChanged{node, false, reason});
}

void TreeOverlay::Returned(const MemberState& state) {
  tree_.SetAlive(state.node, true);
  if (!state.address.empty()) addresses_[state.node] = state.address;
  if (!reported_down_[state.node]) return;
  reported_down_[state.node] = false;
  sink_->OnInput(core::NodeStateChanged{state.node, true, ""});
}

// The tree is unchanged; messages to the old incarnation are void.
void TreeOverlay::Restarted(const MemberState& state) {
  if (!state.address.empty()) addresses_[state.node] = state.address;
  const NeighborRef neighbor = Find(state.node);
  if (neighbor != nullptr && neighbor->stream != nullptr) {
    std::exchange(neighbor->stream, nullptr)->Close({kEndCancelled, ""});
  }
  if (neighbor != nullptr) {
    // Of what waits for it, only what it is to pass on has a meaning yet.
    for (Packet& packet : neighbor->link.TakeUnsent(false)) {
      if (packet.target == state.node) continue;
      neighbor->link.Enqueue(std::move(packet));
    }
  }
  reassembly_.DropSource(state.node);
  sink_->OnInput(core::NodeRestarted{state.node});
}

void TreeOverlay::Declare(NodeId node, const std::string& reason) {
  Merge({node, table_.Incarnation(node), false, reason, ""}, kNoNode);
}

void TreeOverlay::Rejoin(const std::string& reason) {
  if (state_ != State::kJoined) return;
  if (events_.expelled) events_.expelled(reason);
  members_synced_ = false;
  rejoined_ = true;
  identity_.recovered = false;
  identity_.incarnation =
      std::max(ClockIncarnation(), identity_.incarnation + 1);
  client_handshake_.reset();
  server_handshakes_.clear();
  while (!neighbors_.empty()) Drop(neighbors_.begin()->first);
  unroutable_.clear();
  link_errors_.clear();
  table_.Clear();
  table_.Merge(
      {config_.self, identity_.incarnation, true, "", identity_.address});
  rejoining_ = true;
  for (NodeId node = 0; node < table_.size(); ++node) {
    if (node == config_.self) continue;
    tree_.SetAlive(node, true);
    Lost(node, "this agent was cut off: " + reason);
  }
  rejoining_ = false;
  ScheduleReconcile();
}

// ---------------------------------------------------------------- leaving ---

void TreeOverlay::Leave(std::function<void()> done) {
  if (state_ == State::kStopped) return;
  state_ = State::kLeaving;
  left_ = std::move(done);
  client_handshake_.reset();
  if (redial_timer_ != 0) loop_->CancelTimer(std::exchange(redial_timer_, 0));
  for (const auto& [id, neighbor] : neighbors_) AckLater(neighbor);
  leave_timer_ = loop_->AddTimer(int64_t{config_.leave_ms} * kMs, Guard([this] {
                                   leave_timer_ = 0;
                                   if (left_) std::exchange(left_, nullptr)();
                                 }));
  loop_->Defer(Guard([this] { CheckLeft(); }));
}

void TreeOverlay::AnnounceHandover(uint32_t ms, std::function<void()> done) {
  Frame news;
  news.planned_downtime_ms = ms;
  RemoveNewerFields(config_.version, &news);
  for (const auto& [id, neighbor] : neighbors_) {
    if (neighbor->stream == nullptr) continue;
    Flush(neighbor, true);
    if (neighbor->stream != nullptr && neighbor->stream->Writable()) {
      neighbor->stream->Write(EncodeFrame(news));
    }
  }
  announced_ = std::move(done);
  leave_timer_ = loop_->AddTimer(int64_t{config_.leave_ms} * kMs, Guard([this] {
                                   leave_timer_ = 0;
                                   if (announced_) {
                                     std::exchange(announced_, nullptr)();
                                   }
                                 }));
  loop_->Defer(Guard([this] { CheckAnnounced(); }));
}

// Every stream is writable again: what was written is on its way.
void TreeOverlay::CheckAnnounced() {
  if (!announced_) return;
  for (const auto& [id, neighbor] : neighbors_) {
    if (neighbor->stream != nullptr && !neighbor->stream->Writable()) return;
  }
  std::exchange(announced_, nullptr)();
}

void TreeOverlay::CheckLeft() {
  if (state_ != State::kLeaving || !left_) return;
  bool linked = false;
  for (const auto& [id, neighbor] : neighbors_) {
    if (neighbor->stream == nullptr) continue;
    linked = true;
    if (!neighbor->link.Idle()) return;
  }
  if (!linked) {
    if (leave_timer_ != 0) loop_->CancelTimer(std::exchange(leave_timer_, 0));
    return std::exchange(left_, nullptr)();
  }
  // Everything was taken; the neighbours end the links when they read this.
  const bool news = table_.Merge(
      {config_.self, identity_.incarnation, false, "left the overlay", ""});
  if (!news) return;
  for (const auto& [id, neighbor] : neighbors_) {
    neighbor->dirty.insert(config_.self);
    ScheduleFlush(neighbor);
  }
}

}  // namespace canopy::overlay
