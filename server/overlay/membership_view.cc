#include "server/overlay/membership_view.h"

#include <time.h>

#include <algorithm>
#include <utility>

namespace canopy::overlay {
namespace {

uint64_t ClockIncarnation() {
  timespec ts;
  clock_gettime(CLOCK_REALTIME, &ts);
  return static_cast<uint64_t>(ts.tv_sec) * 1000000000 +
         static_cast<uint64_t>(ts.tv_nsec);
}

// Upper bound for the number of times that a predecessor has rejoined. Each
// time, its incarnation grew by one.
constexpr uint64_t kRejoins = 1000000000;

uint64_t FirstIncarnation(const OverlayConfig& config) {
  if (config.incarnation != 0) return config.incarnation;
  if (config.predecessor == 0) return ClockIncarnation();
  return std::max(ClockIncarnation(), config.predecessor + kRejoins);
}

Identity MakeIdentity(const OverlayConfig& config) {
  Identity identity;
  identity.self = config.self;
  identity.members = static_cast<uint32_t>(config.members.size());
  identity.name = config.members[config.self].name;
  identity.incarnation = FirstIncarnation(config);
  identity.overlay_id = config.overlay_id;
  identity.version = config.version;
  identity.oldest_version = config.oldest_version;
  identity.key = config.security.key;
  identity.recovered = config.recovered;
  return identity;
}

}  // namespace

MembershipView::MembershipView(const OverlayConfig& config)
    : identity_(MakeIdentity(config)),
      table_(identity_.members),
      tree_(identity_.members, config.radix),
      reported_down_(identity_.members) {
  for (const Member& member : config.members) {
    names_.push_back(member.name);
    addresses_.push_back(member.address);
  }
  table_.Merge(
      {self(), identity_.incarnation, true, "", "", false, identity_.version});
}

void MembershipView::SetOwnAddress(const std::string& address) {
  identity_.address = address;
  table_.SetAddress(self(), address);
}

void MembershipView::SetOwnDescription(const std::string& description) {
  description_ = description;
  table_.SetDescription(self(), description);
}

void MembershipView::SetAddress(NodeId node, std::string address) {
  if (node >= addresses_.size()) return;
  addresses_[node] = std::move(address);
}

bool MembershipView::IsNeighbor(NodeId node) const {
  return tree_.alive(node) &&
         (parent() == node || tree_.parent(node) == self());
}

NodeId MembershipView::GapTowards(NodeId node) const {
  while (node != kNoNode && node != self()) {
    if (!table_.Known(node) || table_.Absent(node)) return node;
    node = tree_.parent(node);
  }
  return kNoNode;
}

MemberState MembershipView::WithAbsence(NodeId node) const {
  MemberState state = table_.State(node);
  ++state.absences;
  return state;
}

// A member that was removed before this agent knew its state was marked as lost
// then (incarnation 0), so its later loss does not count as another one.
bool MembershipView::LivedUnseen(const MemberState& state) const {
  const bool is_marked =
      table_.Removed(state.node) && table_.Incarnation(state.node) == 0;
  return !state.up && state.incarnation != 0 && !tree_.alive(state.node) &&
         !is_marked;
}

MembershipView::Change MembershipView::Merge(const MemberState& state) {
  if (state.node >= table_.size()) return Change::kNone;
  if (state.node == self()) {
    if (state.incarnation < identity_.incarnation) return Change::kNone;
    if (!state.up) return Change::kSelfLost;
    return state.incarnation > identity_.incarnation ? Change::kSelfDuplicated
                                                     : Change::kNone;
  }
  const bool was_up = table_.Up(state.node);
  const bool is_same = table_.Incarnation(state.node) == state.incarnation;
  const bool lived_unseen = LivedUnseen(state);
  if (!table_.Merge(state)) return Change::kNone;
  if (was_up && is_same && state.up) return Change::kAbsence;
  tree_.SetAlive(state.node, state.up);
  if (!state.up) return lived_unseen ? Change::kLostAgain : Change::kLost;
  if (!state.address.empty()) addresses_[state.node] = state.address;
  if (!was_up) return Change::kReturned;
  return state.recovered ? Change::kRestarted : Change::kReplaced;
}

MembershipView::RecordChange MembershipView::MergeRecord(
    const MemberRecord& record) {
  const uint32_t before = table_.size();
  if (!table_.MergeRecord(record)) return RecordChange::kNone;
  if (table_.size() == before) return RecordChange::kChanged;
  identity_.members = table_.size();
  names_.push_back(record.name);
  addresses_.emplace_back();
  reported_down_.push_back(true);
  tree_.Grow(table_.size());
  return RecordChange::kAdded;
}

bool MembershipView::MergeOwnDeparture() {
  return table_.Merge({self(), identity_.incarnation, false, kLeftOverlay, ""});
}

void MembershipView::StartOver() {
  synced_ = false;
  rejoined_ = true;
  identity_.recovered = false;
  ++identity_.incarnation;
  table_.Clear();
  table_.Merge({self(), identity_.incarnation, true, "", identity_.address,
                false, identity_.version});
  table_.SetDescription(self(), description_);
  for (NodeId node = 0; node < table_.size(); ++node) {
    tree_.SetAlive(node, !table_.Removed(node));
  }
}

bool MembershipView::ReportDown(NodeId node) {
  if (reported_down_[node]) return false;
  reported_down_[node] = true;
  return true;
}

bool MembershipView::ReportUp(NodeId node) {
  if (!reported_down_[node]) return false;
  reported_down_[node] = false;
  return true;
}

StreamEnd MembershipView::Admit(const Hello& hello) const {
  if (!synced_ && parent() != kNoNode) {
    return {kEndUnavailable, identity_.name + " is joining again itself"};
  }
  if (table_.Removed(hello.node)) {
    return {kEndRemoved, names_[hello.node] + " was removed from the overlay"};
  }
  if (hello.node_name != names_[hello.node]) {
    return {kEndRefused, "node " + std::to_string(hello.node) + " is " +
                             names_[hello.node] + ", not " + hello.node_name};
  }
  const MemberState& known = table_.State(hello.node);
  if (table_.Down(hello.node) && hello.incarnation <= known.incarnation) {
    return {kEndExpelled, "declared lost: " + known.reason};
  }
  if (hello.incarnation < known.incarnation) {
    return {kEndRefused, "a newer agent runs as " + hello.node_name};
  }
  return {};
}

}  // namespace canopy::overlay
