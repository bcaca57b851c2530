#include "server/core/job/resync.h"

#include <algorithm>
#include <type_traits>
#include <variant>

#include "server/core/job/place.h"

namespace canopy::core {
namespace {

constexpr size_t kMaxRecent = 1024;
// Maximum number of messages deferred for one job.
constexpr size_t kMaxDeferred = 65536;
// Maximum number of jobs with a deferred JobPrepare.
constexpr size_t kMaxDeferredJobs = 65536;
// Maximum number of unknown jobs about which other agents inquire.
constexpr size_t kMaxInquiries = 4096;

template <typename T, typename... Ts>
constexpr bool IsOneOf = (std::is_same_v<T, Ts> || ...);

}  // namespace

void RecentJobs::Add(const std::string& nspace) {
  names_.push_back(nspace);
  if (names_.size() > kMaxRecent) names_.pop_front();
}

bool RecentJobs::Contains(const std::string& nspace) const {
  return std::ranges::count(names_, nspace) > 0;
}

const std::string* DeferrableNspace(const MessageBody& body) {
  return std::visit(
      []<typename T>(const T& m) -> const std::string* {
        if constexpr (IsOneOf<T, JobPrepared, JobStart, JobStarted, JobExits,
                              NodeLost, JobSignal, JobKill, JobForget, JobQuery,
                              JobQueryReply>) {
          return &m.nspace;
        } else {
          return nullptr;
        }
      },
      body);
}

// --------------------------------------------------- who knows which jobs ---

void JobResync::Begin(TimeNs when) {
  for (NodeId n = 0; n < tree_.size(); ++n) {
    if (n != self_) unsynced_members_.insert(n);
  }
  resync_deadline_ = unsynced_members_.empty() ? kNever : when + kResyncTimeout;
}

bool JobResync::IsAuthoritative() const {
  if (self_ != tree_.root() || !unsynced_members_.empty()) return false;
  return unconfirmed_members_.empty() || *unconfirmed_members_.begin() > self_;
}

// Records that the node has completed its resynchronisation. Returns true if
// this agent now waits for no other node.
bool JobResync::MarkSynced(NodeId node) {
  if (unsynced_members_.erase(node) == 0 || !unsynced_members_.empty()) {
    return false;
  }
  resync_deadline_ = kNever;
  return true;
}

void JobResync::OnNodeLost(NodeId node) {
  MarkSynced(node);
  if (tree_.root() != self_ || !tree_.children(self_).empty()) return;
  for (NodeId n = 0; n < tree_.size(); ++n) {
    if (n != self_) unconfirmed_members_.insert(n);
  }
  confirm_deadline_ = kNever;
  // Jobs that ended on this side of a partition may still run on the
  // controller's side.
  ended_.Clear();
}

void JobResync::OnNodeReturned(TimeNs now) {
  std::erase_if(unconfirmed_members_, [&](NodeId n) { return tree_.alive(n); });
  confirm_deadline_ =
      unconfirmed_members_.empty() ? kNever : now + kResyncTimeout;
}

void JobResync::OnSyncComplete(const JobStep& step, NodeId src) {
  if (MarkSynced(src)) Release(step);
}

void JobResync::SendSyncComplete(const StepContext& step, NodeId node) const {
  if (node != tree_.root()) return;
  step.out.push_back(SendPeer{{self_, node, SyncComplete{}}});
}

void JobResync::OnTick(const JobStep& step) {
  if (step.now >= confirm_deadline_) {
    unconfirmed_members_.clear();
    confirm_deadline_ = kNever;
    Release(step);
  }
  if (step.now >= resync_deadline_) {
    unsynced_members_.clear();
    resync_deadline_ = kNever;
    Release(step);
  }
}

TimeNs JobResync::NextDeadline() const {
  return std::min(confirm_deadline_, resync_deadline_);
}

// ------------------------------------------------------ jobs unknown here ---

bool JobResync::IsElsewhere(const std::string& nspace, NodeId src) const {
  const Job* job = jobs_ == nullptr ? nullptr : jobs_->Find(nspace);
  if (job == nullptr) return false;
  const NodeId controller = job->lent_by_controller;
  return controller != kNoNode && controller != src && tree_.alive(controller);
}

// Only the controller knows that a job has ended. Another agent may not have
// learned of the job yet.
void JobResync::OnUnknown(const JobStep& step, NodeId src,
                          const std::string& nspace) {
  if (HasEnded(nspace)) {
    return step.Send(src, JobQueryReply{nspace, JobVerdict::kEnded});
  }
  // The controller of a job that runs elsewhere reports its end to this agent.
  if (IsAuthoritative() && !IsElsewhere(nspace, src)) {
    return step.Send(src, JobQueryReply{nspace, JobVerdict::kNoRecord});
  }
  if (inquirers_.size() >= kMaxInquiries && !inquirers_.contains(nspace)) {
    return;
  }
  if (inquirers_[nspace].insert(src).second && self_ != tree_.root()) {
    step.Send(tree_.root(), JobQuery{nspace});
  }
}

std::set<NodeId> JobResync::TakeInquirers(const std::string& nspace) {
  const auto inquirers = inquirers_.extract(nspace);
  return inquirers.empty() ? std::set<NodeId>() : inquirers.mapped();
}

void JobResync::AnswerInquirers(const JobStep& step,
                                const JobQueryReply& reply) {
  for (const NodeId agent : TakeInquirers(reply.nspace)) {
    step.Send(agent, reply);
  }
}

void JobResync::OnJobRemoved(const JobStep& step, const std::string& nspace) {
  if (!IsAuthoritative()) return;
  AnswerInquirers(step, {nspace, JobVerdict::kNoRecord});
}

void JobResync::OnNodeRestarted(const JobStep& step, NodeId node) const {
  for (const auto& [nspace, agents] : inquirers_) {
    if (node == tree_.root()) step.Send(node, JobQuery{nspace});
  }
  for (const auto& [nspace, deferred] : deferred_) {
    if (deferred.front().first == node) step.Send(node, JobQuery{nspace});
  }
}

// ------------------------------------------------------ deferred messages ---

bool JobResync::DefersPrepare(NodeId src, NodeId controller) const {
  return JobParent(tree_, self_, controller) != src;
}

// The query also subscribes to the job's end, which matters if the sender never
// becomes the parent.
void JobResync::DeferPrepare(const JobStep& step, NodeId src,
                             const std::string& nspace, const JobPrepare& m) {
  if (deferred_.size() >= kMaxDeferredJobs && !deferred_.contains(nspace)) {
    return;
  }
  deferred_[nspace] = {{src, m}};
  step.Send(src, JobQuery{nspace});
}

bool JobResync::Defer(const PeerMessage& message) {
  const std::string* nspace = DeferrableNspace(message.body);
  if (nspace == nullptr) return false;
  const auto it = deferred_.find(*nspace);
  if (it == deferred_.end()) return false;
  if (std::holds_alternative<JobForget>(message.body) ||
      std::holds_alternative<JobQueryReply>(message.body)) {
    deferred_.erase(it);
    return false;
  }
  if (it->second.front().first != message.src) return false;
  if (it->second.size() < kMaxDeferred) {
    it->second.emplace_back(message.src, message.body);
  }
  return true;
}

void JobResync::Release(const JobStep& step) {
  for (auto& [nspace, agents] : inquirers_) {
    std::erase_if(agents, [&](NodeId n) { return !tree_.alive(n); });
    if (self_ != tree_.root()) {
      step.Send(tree_.root(), JobQuery{nspace});
      continue;
    }
    if (!IsAuthoritative() || IsElsewhere(nspace, kNoNode)) continue;
    for (const NodeId agent : agents) {
      step.Send(agent, JobQueryReply{nspace, JobVerdict::kNoRecord});
    }
    agents.clear();
  }
  std::erase_if(inquirers_,
                [](const auto& item) { return item.second.empty(); });
  MessagesReleased released;
  for (auto& [nspace, deferred] : std::exchange(deferred_, {})) {
    for (auto& [src, body] : deferred) {
      if (!tree_.alive(src)) continue;
      released.messages.push_back({src, self_, std::move(body)});
    }
  }
  if (!released.messages.empty()) step.Post(std::move(released));
}

}  // namespace canopy::core
