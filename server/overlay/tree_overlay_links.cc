// TreeOverlay: dialling, greeting, and the life and loss of links.
#include <algorithm>
#include <utility>

#include "server/overlay/neighbor.h"
#include "server/overlay/tree_overlay.h"

namespace canopy::overlay {
namespace {

constexpr int64_t kMs = 1000000;
// Handshakes under way at a time; more are turned away.
constexpr size_t kMaxReceptionists = 4096;

const StreamEnd kCancelled{kEndCancelled, ""};

int StatusOf(int end_code) {
  switch (end_code) {
    case kEndWrongKey:
      return kErrInvalidCred;
    case kEndRefused:
      return kErrHandshakeFailed;
    default:
      return kErrUnreach;
  }
}

}  // namespace

TreeOverlay::NeighborRef TreeOverlay::Find(NodeId node) const {
  const auto it = neighbors_.find(node);
  return it == neighbors_.end() ? nullptr : it->second;
}

TreeOverlay::NeighborRef TreeOverlay::Get(NodeId node) {
  NeighborRef& neighbor = neighbors_[node];
  if (neighbor == nullptr) neighbor = std::make_shared<Neighbor>(this, node);
  return neighbor;
}

void TreeOverlay::Drop(NodeId node) {
  const auto it = neighbors_.find(node);
  if (it == neighbors_.end()) return;
  const NeighborRef neighbor = it->second;
  neighbors_.erase(it);
  for (EventLoop::TimerId* timer :
       {&neighbor->reconnect_timer, &neighbor->ack_timer}) {
    if (*timer != 0) loop_->CancelTimer(std::exchange(*timer, 0));
  }
  if (neighbor->stream != nullptr) {
    std::exchange(neighbor->stream, nullptr)->Close(kCancelled);
  }
  CheckCongestion(neighbor);
}

bool TreeOverlay::Expected(NodeId node) const {
  return tree_.alive(node) && (tree_.parent(config_.self) == node ||
                               tree_.parent(node) == config_.self);
}

void TreeOverlay::Await(const NeighborRef& neighbor) {
  if (neighbor->reconnect_timer != 0) return;
  int64_t ms = std::max(config_.grace_ms, neighbor->planned_downtime_ms);
  if (neighbor->incarnation == 0) {
    const bool seen = rejoined_ || table_.Known(neighbor->id);
    ms = seen ? ms + config_.detect_ms : config_.join_timeout_ms;
    if (ms == 0) return;
  }
  const NodeId id = neighbor->id;
  const int64_t due = EventLoop::Now() + ms * kMs;
  neighbor->reconnect_timer =
      loop_->AddTimer(ms * kMs, Guard([this, id, due] {
                        OnReconnectTimeout(id, EventLoop::Now() - due);
                      }));
}

void TreeOverlay::OnReconnectTimeout(NodeId node, int64_t late_ns) {
  const NeighborRef neighbor = Find(node);
  if (neighbor == nullptr) return;
  neighbor->reconnect_timer = 0;
  if (neighbor->stream != nullptr || !Expected(node)) return;
  // An agent that was stalled itself cannot conclude that its peer was silent.
  if (late_ns > int64_t{config_.grace_ms} * kMs / 4) return Await(neighbor);
  Declare(node, neighbor->last_error.empty() ? "it did not connect in time"
                                             : neighbor->last_error);
}

// ---------------------------------------------------------------- dialling ---

void TreeOverlay::Dial(const NeighborRef& parent) {
  if (client_handshake_ != nullptr || redial_timer_ != 0) return;
  const NodeId node = parent->id;
  const std::string& name = config_.members[node].name;
  if (addresses_[node].empty()) {
    ReportLinkError(node, kErrUnreach,
                    "the address of " + name + " is not known");
    return Redial(node);
  }
  client_handshake_ = std::make_unique<ClientHandshake>(
      loop_, &identity_, transport_->Dial(addresses_[node]), node, name,
      PointOf(node), int64_t{config_.detect_ms} * kMs,
      [this, node](const StreamEnd& end, const Welcome& welcome,
                   std::shared_ptr<Stream> stream) {
        OnDialled(node, end, welcome, std::move(stream));
      });
}

void TreeOverlay::OnDialled(NodeId node, const StreamEnd& end,
                            const Welcome& welcome,
                            std::shared_ptr<Stream> stream) {
  const auto caller = std::move(client_handshake_);
  if (!end.ok()) {
    const std::string text = end.code == kEndUnavailable
                                 ? config_.members[node].name + " at " +
                                       addresses_[node] +
                                       " can not be reached: " + end.message
                                 : end.message;
    if (const NeighborRef n = Find(node)) n->last_error = text;
    if (end.code == kEndExpelled) return Rejoin(end.message);
    if (tree_.alive(node)) ReportLinkError(node, StatusOf(end.code), text);
    return Redial(node);
  }
  if (table_.Down(node) && welcome.incarnation <= table_.Incarnation(node)) {
    SendMemberDown(node, std::move(stream));
    return Redial(node);
  }
  redial_ms_ = config_.redial_min_ms;
  Establish({node, welcome.incarnation, true, "", "", welcome.recovered},
            welcome.peer_incarnation == identity_.incarnation, welcome.received,
            std::move(stream));
}

void TreeOverlay::Redial(NodeId node) {
  if (tree_.parent(config_.self) != node) return ScheduleReconcile();
  if (redial_timer_ != 0) return;
  redial_timer_ = loop_->AddTimer(int64_t{redial_ms_} * kMs, Guard([this] {
                                    redial_timer_ = 0;
                                    ScheduleReconcile();
                                  }));
  redial_ms_ = std::min(redial_ms_ * 2, config_.redial_max_ms);
}

// An agent that acts as root because earlier members are lost probes them
// periodically: a root that returns has no parent to dial.
void TreeOverlay::ProbeLater() {
  if (probe_timer_ != 0) return;
  probe_timer_ = loop_->AddTimer(int64_t{config_.grace_ms} * kMs, Guard([this] {
                                   probe_timer_ = 0;
                                   Probe();
                                 }));
}

void TreeOverlay::Probe() {
  if (state_ != State::kJoined || tree_.parent(config_.self) != kNoNode) return;
  const NodeId node = probe_next_++ % config_.self;
  if (client_handshake_ == nullptr && !addresses_[node].empty()) {
    client_handshake_ = std::make_unique<ClientHandshake>(
        loop_, &identity_, transport_->Dial(addresses_[node]), node,
        config_.members[node].name, ResumePoint(),
        int64_t{config_.detect_ms} * kMs,
        [this, node](const StreamEnd& end, const Welcome& welcome,
                     std::shared_ptr<Stream> stream) {
          OnDialled(node, end, welcome, std::move(stream));
        });
  }
  ProbeLater();
}

// --------------------------------------------------------------- greeting ---

void TreeOverlay::Accept(std::shared_ptr<Stream> stream) {
  if ((state_ != State::kIdle && state_ != State::kJoined) ||
      server_handshakes_.size() >= kMaxReceptionists) {
    return stream->Close({kEndUnavailable, "this agent takes no links now"});
  }
  const uint64_t number = next_server_handshake_++;
  server_handshakes_[number] = std::make_unique<ServerHandshake>(
      loop_, &identity_, std::move(stream), int64_t{config_.detect_ms} * kMs,
      [this](const Hello& hello, ResumePoint* resume) {
        return Admit(hello, resume);
      },
      [this, number](const StreamEnd& end, const Hello& hello,
                     const Welcome& welcome, std::shared_ptr<Stream> link) {
        const auto done = server_handshakes_.extract(number);
        if (!end.ok()) return;
        Establish({hello.node, hello.incarnation, true, "", hello.address,
                   hello.recovered},
                  welcome.peer_incarnation != 0, hello.received,
                  std::move(link));
      });
}

StreamEnd TreeOverlay::Admit(const Hello& hello, ResumePoint* resume) {
  if (!members_synced_ && tree_.parent(config_.self) != kNoNode) {
    return {kEndUnavailable, identity_.name + " is joining again itself"};
  }
  const MemberState& known = table_.State(hello.node);
  if (table_.Down(hello.node) && hello.incarnation <= known.incarnation) {
    return {kEndExpelled, "declared lost: " + known.reason};
  }
  if (hello.incarnation < known.incarnation) {
    return {kEndRefused, "a newer agent runs as " + hello.node_name};
  }
  const ResumePoint point = PointOf(hello.node);
  if (hello.peer_incarnation == identity_.incarnation &&
      point.peer_incarnation == hello.incarnation) {
    *resume = point;
  }
  return {};
}

ResumePoint TreeOverlay::PointOf(NodeId node) const {
  const NeighborRef neighbor = Find(node);
  if (neighbor == nullptr) return {};
  return {neighbor->incarnation, neighbor->link.received()};
}

void TreeOverlay::Establish(const MemberState& peer, bool resumed,
                            uint64_t peer_received,
                            std::shared_ptr<Stream> stream) {
  const NodeId node = peer.node;
  const uint64_t incarnation = peer.incarnation;
  Merge(peer, node);
  if (!table_.Up(node) || table_.Incarnation(node) != incarnation) {
    return stream->Close({kEndUnavailable, "superseded"});
  }
  const NeighborRef neighbor = Get(node);
  if (neighbor->stream != nullptr) {
    std::exchange(neighbor->stream, nullptr)->Close(kCancelled);
  }
  const bool same = neighbor->incarnation == incarnation;
  if (!same || !resumed || !neighbor->link.Resume(peer_received)) {
    std::vector<Packet> packets = neighbor->link.TakeUnsent(same);
    neighbor->link.Reset();
    for (Packet& packet : packets) neighbor->link.Enqueue(std::move(packet));
  }
  neighbor->incarnation = incarnation;
  neighbor->stream = std::move(stream);
  neighbor->retiring = false;
  neighbor->planned_downtime_ms = 0;
  neighbor->last_error.clear();
  link_errors_.erase(node);
  if (neighbor->reconnect_timer != 0) {
    loop_->CancelTimer(std::exchange(neighbor->reconnect_timer, 0));
  }
  for (NodeId member = 0; member < table_.size(); ++member) {
    if (member != node && table_.Known(member)) neighbor->dirty.insert(member);
  }
  neighbor->stream->Attach(neighbor.get());
  ScheduleFlush(neighbor);
  ScheduleReconcile();
}

// ------------------------------------------------------------------ losing ---

void TreeOverlay::OnLinkEnd(const NeighborRef& neighbor, const StreamEnd& end) {
  neighbor->stream = nullptr;
  neighbor->last_error = end.ok() ? "it ended the connection" : end.message;
  if (state_ == State::kLeaving) return CheckLeft();
  if (end.code == kEndExpelled) return Rejoin(end.message);
  if (!Expected(neighbor->id) && Find(neighbor->id) == neighbor) {
    std::vector<Packet> packets = neighbor->link.TakeUnsent(true);
    Drop(neighbor->id);
    Reroute(std::move(packets), kNoNode);
  }
  ScheduleReconcile();
}

void TreeOverlay::BreakLink(const NeighborRef& neighbor,
                            const std::string& why) {
  if (neighbor->stream == nullptr) return;
  neighbor->stream->Close({kEndUnavailable, why});
  OnLinkEnd(neighbor, {kEndUnavailable, why});
}

// The neighbour was declared lost by other members and is still linked. It must
// be notified, or it would keep an obsolete view of the membership.
void TreeOverlay::Expel(const NeighborRef& neighbor) {
  if (neighbor->stream == nullptr || !table_.Down(neighbor->id) ||
      table_.Incarnation(neighbor->id) != neighbor->incarnation) {
    return;
  }
  auto stream = std::exchange(neighbor->stream, nullptr);
  if (neighbor->id < config_.self) {
    SendMemberDown(neighbor->id, std::move(stream));
  } else {
    stream->Close(
        {kEndExpelled, "declared lost: " + table_.State(neighbor->id).reason});
  }
}

// For a stream that this side has dialled.
void TreeOverlay::SendMemberDown(NodeId node, std::shared_ptr<Stream> stream) {
  std::erase_if(farewells_, [](const auto& p) { return p->over(); });
  Frame news;
  news.members = Members{{table_.State(node)}};
  farewells_.push_back(
      std::make_unique<FarewellStream>(std::move(stream), std::move(news)));
}

void TreeOverlay::Retire(const NeighborRef& neighbor) {
  neighbor->retiring = true;
  if (!neighbor->link.Idle() || !neighbor->dirty.empty()) return;
  if (neighbor->link.AckOwed()) {
    if (!neighbor->stream->Writable()) return;
    Frame last;
    neighbor->link.Fill(&last, true);
    neighbor->stream->Write(EncodeFrame(last));
  }
  std::exchange(neighbor->stream, nullptr)->CloseInOrder();
  Drop(neighbor->id);
}

}  // namespace canopy::overlay
