#include "server/overlay/link_set.h"

#include <algorithm>
#include <utility>

#include "common/time_units.h"

namespace canopy::overlay {
namespace {

// The time after which a child that was never linked to this agent is reported
// as awaited. Such a child has lost its former parent, or this agent is the
// successor of its parent.
constexpr int64_t kAdoptionMs = 1000;
// Pause between the probes of two members. It limits the work of an agent if
// many members with lower numbers are lost.
constexpr uint32_t kProbePauseMs = 50;
// Maximum number of server handshakes in progress; further streams are closed.
constexpr size_t kMaxServerHandshakes = 4096;

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

LinkSet::LinkSet(EventLoop* loop, Transport* transport,
                 const OverlayConfig* config, const MembershipView* view,
                 Listener* listener)
    : loop_(loop),
      config_(config),
      view_(view),
      listener_(listener),
      dialer_(loop, transport, config, view,
              [this](NodeId node, const StreamEnd& end, const Welcome& welcome,
                     std::shared_ptr<Stream> stream) {
                OnDialled(node, end, welcome, std::move(stream));
              }) {}

LinkSet::~LinkSet() { Stop(); }

void LinkSet::Reset() {
  dialer_.Abandon();
  server_handshakes_.clear();
  while (!neighbors_.empty()) Drop(neighbors_.begin()->first);
}

void LinkSet::Stop() {
  alive_.reset();
  Reset();
  dialer_.Stop();
  farewells_.clear();
}

std::function<void()> LinkSet::IfAlive(std::function<void()> work) {
  return [alive = std::weak_ptr<int>(alive_), work = std::move(work)] {
    if (!alive.expired()) work();
  };
}

// -------------------------------------------------------------- neighbours ---

Neighbor::Ref LinkSet::Find(NodeId node) const {
  const auto it = neighbors_.find(node);
  return it == neighbors_.end() ? nullptr : it->second;
}

Neighbor::Ref LinkSet::Get(NodeId node) {
  Neighbor::Ref& neighbor = neighbors_[node];
  if (neighbor == nullptr) {
    Neighbor::Listener* const listener = this;
    neighbor = std::make_shared<Neighbor>(loop_, &view_->table(),
                                          config_->version, node, listener);
  }
  return neighbor;
}

void LinkSet::Drop(NodeId node) {
  const auto it = neighbors_.find(node);
  if (it == neighbors_.end()) return;
  const Neighbor::Ref neighbor = it->second;
  neighbors_.erase(it);
  neighbor->Close();
}

void LinkSet::DropUndelivered(const Neighbor::Ref& neighbor,
                              bool unacknowledged) {
  std::vector<Packet> packets = neighbor->TakeUnsent(unacknowledged);
  Drop(neighbor->id());
  listener_->OnUndelivered(std::move(packets));
}

bool LinkSet::Linked(NodeId node) const {
  const auto it = neighbors_.find(node);
  return it != neighbors_.end() && it->second->linked();
}

void LinkSet::Enqueue(NodeId node, Packet packet) {
  const Neighbor::Ref neighbor = Get(node);
  neighbor->Enqueue(std::move(packet));
  if (neighbor->queued_bytes() <= config_->queue_limit_bytes) return;
  loop_->Defer(IfAlive([this, node] {
    listener_->OnUnreachable(node, "its send queue is full");
  }));
}

void LinkSet::SendMember(NodeId member, NodeId except) {
  for (const auto& [id, neighbor] : neighbors_) {
    if (id != except) neighbor->SendMember(member);
  }
}

void LinkSet::SendRecord(NodeId member, NodeId except) {
  for (const auto& [id, neighbor] : neighbors_) {
    if (id != except) neighbor->SendRecord(member);
  }
}

std::vector<Packet> LinkSet::Remove(NodeId node) {
  const Neighbor::Ref neighbor = Find(node);
  if (neighbor == nullptr) return {};
  std::vector<Packet> packets = neighbor->TakeUnsent(false);
  const MemberState& state = view_->table().State(node);
  // A neighbour that is still linked, but was declared lost by other members,
  // must be notified. Otherwise it would keep an obsolete view of the
  // membership.
  if (neighbor->linked() && view_->table().Down(node) &&
      state.incarnation == neighbor->incarnation()) {
    std::shared_ptr<Stream> stream = neighbor->TakeStream();
    if (node < view_->self()) {
      SendMemberDown(node, std::move(stream));
    } else {
      stream->Close({kEndExpelled, "declared lost: " + state.reason});
    }
  }
  Drop(node);
  return packets;
}

void LinkSet::BeginAnew(NodeId node) {
  const Neighbor::Ref neighbor = Find(node);
  if (neighbor == nullptr) return;
  neighbor->Disconnect();
  // The neighbour's predecessor is gone. Queued packets still make sense only
  // if the neighbour is to forward them.
  for (Packet& packet : neighbor->TakeUnsent(false)) {
    if (packet.target != node) neighbor->Enqueue(std::move(packet));
  }
}

// Notifies `node` that it is down or was removed, in the last frame of a stream
// that this agent has dialled.
void LinkSet::SendMemberDown(NodeId node, std::shared_ptr<Stream> stream) {
  std::erase_if(farewells_, [](const auto& f) { return f->over(); });
  const MemberTable& table = view_->table();
  Frame news;
  news.members.emplace();
  if (table.Removed(node)) {
    news.members->records.push_back(*table.Record(node));
  } else {
    news.members->changes.push_back(table.State(node));
  }
  farewells_.push_back(
      std::make_unique<FarewellStream>(std::move(stream), std::move(news)));
}

// ----------------------------------------------------- following the view ---

void LinkSet::Update() {
  UpdateParent();
  for (const NodeId child : view_->tree().children(view_->self())) {
    const Neighbor::Ref neighbor = Get(child);
    if (!neighbor->linked()) Await(neighbor);
  }
  const NodeId parent = view_->parent();
  const bool parent_linked = parent == kNoNode || Linked(parent);
  const auto all = neighbors_;
  for (const auto& [id, neighbor] : all) {
    if (view_->IsNeighbor(id)) continue;
    if (!neighbor->linked()) {
      DropUndelivered(neighbor, false);
    } else if (id < view_->self() && parent_linked && neighbor->Retire()) {
      Drop(id);
    }
  }
}

void LinkSet::UpdateParent() {
  const NodeId parent = view_->parent();
  if (parent == kNoNode) {
    if (view_->self() == 0) return;
    const bool alone = view_->table().up_count() <= 1;
    dialer_.ProbeLater(alone ? kProbePauseMs : config_->grace_ms,
                       [this] { Probe(); });
    return;
  }
  dialer_.AbandonOthers(parent);
  const Neighbor::Ref neighbor = Get(parent);
  neighbor->StopRetiring();
  if (neighbor->linked()) return;
  Await(neighbor);
  DialParent(parent);
}

std::optional<int64_t> LinkSet::TimeToLoss(NodeId node) const {
  const Neighbor::Ref neighbor = Find(node);
  if (neighbor == nullptr || neighbor->linked()) return std::nullopt;
  return neighbor->TimeToReconnect();
}

void LinkSet::Await(const Neighbor::Ref& neighbor) {
  const NodeId id = neighbor->id();
  if (neighbor->TimeToReconnect()) return;
  int64_t ms = std::max(config_->grace_ms, neighbor->planned_downtime_ms());
  if (neighbor->incarnation() == 0) {
    ms =
        view_->WasSeen(id) ? ms + config_->detect_ms : config_->join_timeout_ms;
    if (ms == 0) return;
  }
  ReportAwaited(neighbor);
  neighbor->StartReconnectTimer(ms * kNsPerMs, [this, id] {
    const Neighbor::Ref late = Find(id);
    if (late == nullptr || late->linked() || !view_->IsNeighbor(id)) return;
    listener_->OnUnreachable(id, late->last_error().empty()
                                     ? "it did not connect in time"
                                     : late->last_error());
  });
}

// Reports a child as awaited if it is not linked after the downtime that it has
// announced, or after kAdoptionMs if it was never linked to this agent.
void LinkSet::ReportAwaited(const Neighbor::Ref& neighbor) {
  const NodeId id = neighbor->id();
  const int64_t ms = neighbor->incarnation() == 0
                         ? kAdoptionMs
                         : neighbor->planned_downtime_ms();
  loop_->AddTimer(ms * kNsPerMs, IfAlive([this, id] {
                    const Neighbor::Ref late = Find(id);
                    const bool is_child =
                        view_->tree().alive(id) &&
                        view_->tree().parent(id) == view_->self();
                    if (is_child && late != nullptr && !late->linked()) {
                      listener_->OnChildAwaited(id);
                    }
                  }));
}

// ---------------------------------------------------------------- dialling ---

void LinkSet::DialParent(NodeId node) {
  if (dialer_.busy()) return;
  if (!view_->address(node).empty()) return dialer_.Dial(node, PointOf(node));
  listener_->OnLinkError(
      node, Status(kErrUnreach,
                   "the address of " + view_->name(node) + " is not known"));
  Redial(node);
}

void LinkSet::OnDialled(NodeId node, const StreamEnd& end,
                        const Welcome& welcome,
                        std::shared_ptr<Stream> stream) {
  if (!end.ok()) return OnDialFailed(node, end);
  if (view_->table().Removed(node) ||
      (view_->table().Down(node) &&
       welcome.incarnation <= view_->table().Incarnation(node))) {
    SendMemberDown(node, std::move(stream));
    return Redial(node);
  }
  dialer_.ResetPause();
  Establish({node, welcome.incarnation, true, "", "", welcome.recovered,
             welcome.version},
            welcome.peer_incarnation == view_->identity().incarnation,
            welcome.received, std::move(stream));
}

void LinkSet::OnDialFailed(NodeId node, const StreamEnd& end) {
  const std::string text = end.code == kEndUnavailable
                               ? view_->name(node) + " at " +
                                     view_->address(node) +
                                     " cannot be reached: " + end.message
                               : end.message;
  if (const Neighbor::Ref neighbor = Find(node)) neighbor->set_last_error(text);
  if (end.code == kEndExpelled) return listener_->OnExpelled(end.message);
  if (end.code == kEndRemoved) return listener_->OnRemoved(end.message);
  if (view_->tree().alive(node)) {
    listener_->OnLinkError(node, Status(StatusOf(end.code), text));
  }
  Redial(node);
}

void LinkSet::Redial(NodeId node) {
  if (view_->parent() != node) return listener_->OnLinksChanged();
  dialer_.Pause([this] { listener_->OnLinksChanged(); });
}

// An agent that acts as root because members before it are lost or removed
// probes them in turn: a returning root has no parent to dial, and one that was
// removed while it was cut off does not know it.
void LinkSet::Probe() {
  if (view_->parent() != kNoNode) return;
  const NodeId node = dialer_.NextToProbe();
  if (!view_->address(node).empty()) dialer_.Probe(node);
  const bool is_last = node + 1 == view_->self();
  dialer_.ProbeLater(is_last ? config_->grace_ms : kProbePauseMs,
                     [this] { Probe(); });
}

// --------------------------------------------------------------- accepting ---

void LinkSet::Accept(std::shared_ptr<Stream> stream) {
  if (server_handshakes_.size() >= kMaxServerHandshakes) {
    return stream->Close({kEndUnavailable, "this agent takes no links now"});
  }
  const uint64_t number = next_server_handshake_++;
  server_handshakes_[number] = std::make_unique<ServerHandshake>(
      loop_, &view_->identity(), std::move(stream),
      int64_t{config_->detect_ms} * kNsPerMs,
      [this](const Hello& hello, ResumePoint* resume) {
        const StreamEnd verdict = view_->Admit(hello);
        const ResumePoint point = PointOf(hello.node);
        if (verdict.ok() &&
            hello.peer_incarnation == view_->identity().incarnation &&
            point.peer_incarnation == hello.incarnation) {
          *resume = point;
        }
        return verdict;
      },
      [this, number](const StreamEnd& end, const Hello& hello,
                     const Welcome& welcome, std::shared_ptr<Stream> link) {
        const auto ended = server_handshakes_.extract(number);
        if (!end.ok()) return;
        link->SetProved();
        OnGreeted(hello, welcome, std::move(link));
      });
}

void LinkSet::OnGreeted(const Hello& hello, const Welcome& welcome,
                        std::shared_ptr<Stream> stream) {
  Establish({hello.node, hello.incarnation, true, "", hello.address,
             hello.recovered, hello.version},
            welcome.peer_incarnation != 0, hello.received, std::move(stream));
}

ResumePoint LinkSet::PointOf(NodeId node) const {
  const Neighbor::Ref neighbor = Find(node);
  return neighbor == nullptr ? ResumePoint() : neighbor->resume_point();
}

void LinkSet::Establish(const MemberState& peer, bool resumed,
                        uint64_t peer_received,
                        std::shared_ptr<Stream> stream) {
  const NodeId node = peer.node;
  const uint64_t incarnation = peer.incarnation;
  listener_->OnPeer(peer);
  if (!view_->table().Up(node) ||
      view_->table().Incarnation(node) != incarnation) {
    return stream->Close({kEndUnavailable, "superseded"});
  }
  Get(node)->Connect(incarnation, resumed, peer_received, std::move(stream));
  listener_->OnLinked(node);
  listener_->OnLinksChanged();
}

// ---------------------------------------------------- events of the links ---

void LinkSet::OnActivity(const Neighbor::Ref& neighbor) {
  if (neighbor->retiring() && Find(neighbor->id()) == neighbor &&
      neighbor->Retire()) {
    Drop(neighbor->id());
  }
  listener_->OnActivity();
}

void LinkSet::OnLinkEnd(const Neighbor::Ref& neighbor, const StreamEnd& end) {
  if (end.code == kEndExpelled) return listener_->OnExpelled(end.message);
  if (!view_->IsNeighbor(neighbor->id()) && Find(neighbor->id()) == neighbor) {
    DropUndelivered(neighbor, true);
  }
  listener_->OnLinksChanged();
}

// ----------------------------------------------------------------- leaving ---

void LinkSet::BeginLeaving() {
  dialer_.Stop();
  for (const auto& [id, neighbor] : neighbors_) neighbor->AckLater();
}

void LinkSet::SendLast(const Frame& frame) {
  const auto all = neighbors_;
  for (const auto& [id, neighbor] : all) neighbor->SendLast(frame);
}

bool LinkSet::AnyLinked() const {
  return std::any_of(neighbors_.begin(), neighbors_.end(),
                     [](const auto& n) { return n.second->linked(); });
}

bool LinkSet::AllIdle() const {
  return std::all_of(neighbors_.begin(), neighbors_.end(), [](const auto& n) {
    return !n.second->linked() || n.second->idle();
  });
}

bool LinkSet::AllWritten() const {
  return std::all_of(neighbors_.begin(), neighbors_.end(),
                     [](const auto& n) { return n.second->Written(); });
}

}  // namespace canopy::overlay
