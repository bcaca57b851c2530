#include "server/overlay/tree_overlay.h"

#include <utility>

#include "common/time_units.h"

namespace canopy::overlay {
namespace {

// Returns true for a wildcard address, which other members cannot dial.
bool IsWildcard(const std::string& address) {
  return address.starts_with("0.0.0.0:") || address.starts_with("[::]:");
}

}  // namespace

TreeOverlay::TreeOverlay(EventLoop* loop, InputSink* sink,
                         std::unique_ptr<Transport> transport,
                         const OverlayConfig& config, OverlayEvents events)
    : loop_(loop),
      sink_(sink),
      config_(config),
      events_(std::move(events)),
      transport_(std::move(transport)),
      address_(config_.listen),
      view_(config_),
      links_(loop, transport_.get(), &config_, &view_, this),
      router_(loop, &config_, &view_, &links_, this) {}

TreeOverlay::~TreeOverlay() { Stop(); }

std::function<void()> TreeOverlay::Guard(std::function<void()> work) {
  return [alive = std::weak_ptr<int>(life_), work = std::move(work)] {
    if (!alive.expired()) work();
  };
}

// This agent's address in the view is the configured one, because other members
// dial that one. Without a configured address, it is the address on which the
// transport listens, unless that is a wildcard.
Status TreeOverlay::Listen() {
  Status status = transport_->Listen(
      config_.listen,
      [this](std::shared_ptr<Stream> stream) { Accept(std::move(stream)); });
  if (!status.ok()) return status;
  address_ = config_.listen.substr(0, config_.listen.rfind(':') + 1) +
             std::to_string(port());
  const std::string& known = config_.members[config_.self].address;
  if (!known.empty()) {
    view_.SetOwnAddress(known);
  } else if (!IsWildcard(address_)) {
    view_.SetOwnAddress(address_);
  }
  return status;
}

void TreeOverlay::Join(const Members& known) {
  if (state_ != State::kIdle) return;
  state_ = State::kJoined;
  joins_running_ = !known.changes.empty();
  for (const MemberRecord& record : known.records) {
    MergeRecord(record, kNoNode);
  }
  for (const MemberState& state : known.changes) Merge(state, kNoNode);
  ScheduleReconcile();
}

void TreeOverlay::Stop() {
  state_ = State::kStopped;
  life_.reset();
  if (leave_timer_ != 0) loop_->CancelTimer(std::exchange(leave_timer_, 0));
  links_.Stop();
  router_.Clear();
  transport_->Stop();
}

void TreeOverlay::Accept(std::shared_ptr<Stream> stream) {
  loop_->AssertOnThread();
  if (state_ != State::kIdle && state_ != State::kJoined) {
    return stream->Close({kEndUnavailable, "this agent takes no links now"});
  }
  links_.Accept(std::move(stream));
}

void TreeOverlay::Send(const core::PeerMessage& message) {
  loop_->AssertOnThread();
  // While the losses after a rejoin are being reported, a message to another
  // member is based on an obsolete view, and is dropped.
  if (rejoining_ || state_ == State::kStopped) return;
  router_.Send(message);
}

void TreeOverlay::OnMessage(core::PeerMessage&& message) {
  sink_->OnInput(core::PeerArrived{std::move(message)});
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
  // The last link may just have ended because its other end left, too.
  if (state_ == State::kLeaving) return CheckLeft();
  if (state_ != State::kJoined) return;
  links_.Update();
  router_.Retry();
}

void TreeOverlay::ReportProgress() {
  const uint32_t up = table().up_count();
  if (std::exchange(reported_up_, up) != up && events_.progress) {
    events_.progress(up, table().num_kept());
  }
  const bool ready = joins_running_ ? links_.AnyLinked() : view_.complete();
  if (ready && state_ == State::kJoined &&
      !std::exchange(reported_ready_, true) && events_.ready) {
    events_.ready();
  }
}

void TreeOverlay::OnLinkError(NodeId node, const Status& error) {
  std::string& last = link_errors_[node];
  if (last == error.message()) return;
  last = error.message();
  if (events_.link_error) events_.link_error(node, error);
}

// ---------------------------------------------------------------- members ---

void TreeOverlay::OnMember(const MemberState& state, NodeId from) {
  if (from < view_.self()) view_.MarkSynced();
  Merge(state, from);
}

bool TreeOverlay::MergeRecord(const MemberRecord& record, NodeId from) {
  const MembershipView::RecordChange change = view_.MergeRecord(record);
  if (change == MembershipView::RecordChange::kNone) return false;
  links_.SendRecord(record.node, from);
  if (change == MembershipView::RecordChange::kAdded) {
    const Status served = transport_->ExpectPeers();
    if (!served.ok()) OnLinkError(record.node, served);
    router_.OnMemberAdded();
    sink_->OnInput(core::MemberAdded{record.node, record.name});
  }
  if (events_.record) events_.record(record);
  // A member that was removed is not waited for.
  if (table().Removed(record.node) && record.node != view_.self() &&
      !table().Known(record.node)) {
    Merge({record.node, 0, false, kLeftOverlay, ""}, kNoNode);
  }
  ScheduleReconcile();
  return true;
}

Status TreeOverlay::Decide(MemberRecord record) {
  if (record.node >= kMaxMembers) {
    return Status(kErrOutOfResource, "the overlay has too many members");
  }
  if (record.node > table().size() ||
      record.description.size() > kMaxDescription) {
    return Status(kErrBadParam, "the record of a member is malformed");
  }
  const MemberRecord* const known =
      record.node < table().size() ? table().Record(record.node) : nullptr;
  record.version = known == nullptr ? 1 : known->version + 1;
  if (MergeRecord(record, kNoNode)) return Status();
  return Status(kErrExists,
                view_.name(record.node) + " was removed from the overlay");
}

Members TreeOverlay::Known() const {
  Members out;
  for (NodeId node = 0; node < table().size(); ++node) {
    if (const MemberRecord* record = table().Record(node)) {
      out.records.push_back(*record);
    }
    MemberState state = table().State(node);
    state.node = node;
    if (!table().Known(node)) state.reason = "its agent has not joined yet";
    out.changes.push_back(std::move(state));
  }
  return out;
}

void TreeOverlay::OnRemoved(const std::string& reason) {
  if (state_ == State::kJoined && events_.removed) events_.removed(reason);
}

void TreeOverlay::OnLinked(NodeId node) {
  link_errors_.erase(node);
  if (table().Absent(node)) Merge(view_.WithAbsence(node), kNoNode);
}

void TreeOverlay::OnChildAwaited(NodeId node) {
  if (state_ != State::kJoined || !table().Up(node)) return;
  if (!table().Absent(node)) Merge(view_.WithAbsence(node), kNoNode);
}

void TreeOverlay::OnUnreachable(NodeId node, const std::string& reason) {
  if (state_ == State::kStopped) return;
  Merge({node, table().Incarnation(node), false, reason, ""}, kNoNode);
}

void TreeOverlay::Merge(const MemberState& state, NodeId from) {
  const MembershipView::Change change = view_.Merge(state);
  switch (change) {
    case MembershipView::Change::kNone:
      return;
    case MembershipView::Change::kSelfLost:
      return Rejoin(state.reason);
    case MembershipView::Change::kSelfDuplicated:
      return OnLinkError(
          view_.self(),
          Status(kErrExists, "another agent runs as " +
                                 view_.name(view_.self()) + ", node " +
                                 std::to_string(view_.self())));
    default:
      break;
  }
  links_.SendMember(state.node, from);
  if (!state.description.empty() && events_.description) {
    events_.description(state.node, state.description);
  }
  if (change == MembershipView::Change::kAbsence) return OnAbsence(state.node);
  router_.OnMemberChanged(state.node);
  Apply(change, state);
  ScheduleReconcile();
  if (events_.reachability) events_.reachability();
}

// A former parent of a member may report the member as absent although the
// member is linked to this agent.
void TreeOverlay::OnAbsence(NodeId node) {
  if (table().Absent(node) && links_.Linked(node) && view_.IsNeighbor(node)) {
    return Merge(view_.WithAbsence(node), kNoNode);
  }
  if (events_.reachability) events_.reachability();
}

// While a member lived unseen, others may have sent messages through it, which
// are lost with it. So the core is notified of its return as well, and sends
// them again.
void TreeOverlay::Apply(MembershipView::Change change,
                        const MemberState& state) {
  switch (change) {
    case MembershipView::Change::kLostAgain:
      Returned(state.node);
      [[fallthrough]];
    case MembershipView::Change::kLost:
      return Lost(state.node, state.reason, state.incarnation,
                  state.reason == kLeftOverlay);
    case MembershipView::Change::kRestarted:
      return Restarted(state.node);
    case MembershipView::Change::kReplaced:
      Lost(state.node, "the agent was restarted", state.incarnation - 1);
      return Returned(state.node);
    default:
      return Returned(state.node);
  }
}

void TreeOverlay::Lost(NodeId node, const std::string& reason, uint64_t life,
                       bool left) {
  std::vector<Packet> packets = links_.Remove(node);
  router_.OnLoss(node);
  std::erase_if(packets, [node](const Packet& p) { return p.target == node; });
  router_.Reroute(std::move(packets));
  if (view_.ReportDown(node)) {
    sink_->OnInput(core::NodeStateChanged{node, false, reason, life, left});
  }
}

void TreeOverlay::Returned(NodeId node) {
  if (view_.ReportUp(node)) {
    sink_->OnInput(core::NodeStateChanged{node, true, "", 0});
  }
}

// The tree is unchanged, but messages to the old incarnation must not reach the
// new one.
void TreeOverlay::Restarted(NodeId node) {
  links_.BeginAnew(node);
  router_.ForgetSource(node);
  sink_->OnInput(core::NodeRestarted{node});
}

void TreeOverlay::Rejoin(const std::string& reason) {
  if (state_ != State::kJoined) return;
  if (events_.expelled) events_.expelled(reason);
  links_.Reset();
  router_.Clear();
  link_errors_.clear();
  view_.StartOver();
  router_.OnRejoin();
  rejoining_ = true;
  for (NodeId node = 0; node < table().size(); ++node) {
    if (node != view_.self())
      Lost(node, "this agent was cut off: " + reason, 0);
  }
  rejoining_ = false;
  ScheduleReconcile();
}

// ---------------------------------------------------------------- leaving ---

void TreeOverlay::StartLeaveTimer(std::function<void()>* done) {
  leave_timer_ =
      loop_->AddTimer(int64_t{config_.leave_ms} * kNsPerMs, Guard([this, done] {
                        leave_timer_ = 0;
                        if (*done) std::exchange(*done, nullptr)();
                      }));
}

void TreeOverlay::Leave(std::function<void()> done) {
  if (state_ == State::kStopped) return;
  state_ = State::kLeaving;
  left_ = std::move(done);
  links_.BeginLeaving();
  StartLeaveTimer(&left_);
  loop_->Defer(Guard([this] { CheckLeft(); }));
}

void TreeOverlay::AnnounceHandover(uint32_t ms, std::function<void()> done) {
  Frame news;
  news.planned_downtime_ms = ms;
  links_.SendLast(news);
  announced_ = std::move(done);
  StartLeaveTimer(&announced_);
  loop_->Defer(Guard([this] { CheckAnnounced(); }));
}

void TreeOverlay::OnActivity() {
  if (state_ == State::kLeaving) CheckLeft();
  if (announced_) CheckAnnounced();
}

// Calls `announced_` when every stream is writable again, because everything
// written has been sent then.
void TreeOverlay::CheckAnnounced() {
  if (announced_ && links_.AllWritten()) std::exchange(announced_, nullptr)();
}

void TreeOverlay::CheckLeft() {
  if (state_ != State::kLeaving || !left_) return;
  if (!links_.AllIdle()) return;
  if (!links_.AnyLinked()) {
    if (leave_timer_ != 0) loop_->CancelTimer(std::exchange(leave_timer_, 0));
    return std::exchange(left_, nullptr)();
  }
  // The neighbours have received everything. They end the links when they read
  // this agent's departure.
  if (view_.MergeOwnDeparture()) links_.SendMember(view_.self(), kNoNode);
}

}  // namespace canopy::overlay
