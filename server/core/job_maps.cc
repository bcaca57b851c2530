#include "server/core/job_maps.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "common/status.h"

namespace canopy::core {
namespace {

// Request numbers apart from those of Gets.
constexpr uint64_t kMapRequest = uint64_t{1} << 63;
// With it: whether a map that is here already still holds.
constexpr uint64_t kCheck = uint64_t{1} << 62;
constexpr char kCheckKey[] = "known";
constexpr TimeNs kPatience = 10'000'000'000;

}  // namespace

JobMaps::JobMaps(NodeId self, const Tree& tree, JobTable& jobs)
    : self_(self), tree_(tree), jobs_(jobs), next_request_(kMapRequest) {}

void JobMaps::Want(TimeNs now, const std::string& nspace, Actions* actions) {
  if (jobs_.Find(nspace) != nullptr || asked_.contains(nspace)) return;
  const NodeId root = tree_.root();
  if (root == self_ || root == kNoNode) {
    unknown_.push_back(nspace);
    return;
  }
  Ask& ask = asked_[nspace];
  ask.deadline = now + kPatience;
  Send(nspace, &ask, actions);
}

void JobMaps::Send(const std::string& nspace, Ask* ask, Actions* actions) {
  ask->request = next_request_++;
  ask->node = tree_.root();
  const DmodexRequest request{ask->request, {nspace, kRankWildcard}, "", 0};
  actions->push_back(SendPeer{PeerMessage{self_, ask->node, request}});
}

bool JobMaps::OnRequest(NodeId src, const DmodexRequest& request,
                        Actions* actions) {
  if (request.target.rank != kRankWildcard) return false;
  DmodexReply reply{request.request, kErrNotFound, request.target, {}, 0};
  if (const Job* job = jobs_.Find(request.target.nspace)) {
    reply.status = kSuccess;
    if (request.key.empty()) reply.data = Bytes(EncodeJobSpec(*job->spec));
    jobs_.AddReader(request.target.nspace, src);
  }
  actions->push_back(SendPeer{PeerMessage{self_, src, std::move(reply)}});
  return true;
}

bool JobMaps::OnReply(NodeId src, const DmodexReply& reply) {
  if ((reply.request & kMapRequest) == 0) return false;
  if ((reply.request & kCheck) != 0) {
    const auto it = borrowed_.find(reply.target.nspace);
    const bool over = reply.status == kErrNotFound;
    if (over && it != borrowed_.end() && it->second == src) {
      Forget(reply.target.nspace);
    }
    return true;
  }
  const auto it = asked_.find(reply.target.nspace);
  if (it == asked_.end() || it->second.request != reply.request ||
      it->second.node != src) {
    return true;
  }
  const std::string nspace = it->first;
  asked_.erase(it);
  if (reply.status == kSuccess) {
    Result<JobSpec> spec = DecodeJobSpec(reply.data.view());
    if (spec.ok() && spec->nspace == nspace) {
      if (jobs_.Add(std::make_shared<const JobSpec>(std::move(*spec)))) {
        borrowed_.emplace(nspace, src);
      }
      return true;
    }
  }
  unknown_.push_back(nspace);
  return true;
}

void JobMaps::OnForget(NodeId src, const std::string& nspace) {
  const auto asked = asked_.find(nspace);
  const auto borrowed = borrowed_.find(nspace);
  if ((asked != asked_.end() && asked->second.node == src) ||
      (borrowed != borrowed_.end() && borrowed->second == src)) {
    Forget(nspace);
  }
}

void JobMaps::Forget(const std::string& nspace) {
  // The job's end may have overtaken its map, which would never be released.
  if (asked_.erase(nspace) > 0) unknown_.push_back(nspace);
  if (borrowed_.erase(nspace) > 0) jobs_.Remove(nspace);
}

void JobMaps::OnPrepare(const Bytes& bytes) {
  if (borrowed_.empty()) return;
  const Result<JobSpec> spec = DecodeJobSpec(bytes.view());
  if (!spec.ok() || !borrowed_.contains(spec->nspace)) return;
  const Job* job = jobs_.Find(spec->nspace);
  // What waits for its collectives stays, unless its data is given out.
  if (job == nullptr || job->registered) return Forget(spec->nspace);
  borrowed_.erase(spec->nspace);
}

void JobMaps::OnJobRemoved(const RemovedJob& job, Actions* actions) const {
  for (const NodeId reader : job.readers) {
    if (!tree_.alive(reader)) continue;
    actions->push_back(
        SendPeer{PeerMessage{self_, reader, JobForget{job.nspace}}});
  }
}

void JobMaps::OnNodeLost(Actions* actions) const {
  for (const auto& [nspace, lender] : borrowed_) {
    const DmodexRequest check{
        kMapRequest | kCheck, {nspace, kRankWildcard}, kCheckKey, 0};
    if (!tree_.alive(lender)) continue;
    actions->push_back(SendPeer{PeerMessage{self_, lender, check}});
  }
}

void JobMaps::OnTreeChanged(Actions* actions) {
  // The job's end would not be reported: drop the map, which is requested again
  // when needed.
  std::vector<std::string> unsure;
  for (const auto& [nspace, lender] : borrowed_) {
    if (!tree_.alive(lender)) unsure.push_back(nspace);
  }
  for (const std::string& nspace : unsure) Forget(nspace);
  const NodeId root = tree_.root();
  for (auto it = asked_.begin(); it != asked_.end();) {
    if (it->second.node == root) {
      ++it;
    } else if (root == self_ || root == kNoNode) {
      unknown_.push_back(it->first);
      it = asked_.erase(it);
    } else {
      Send(it->first, &it->second, actions);
      ++it;
    }
  }
}

// The question or its answer may have been lost with it.
void JobMaps::OnNodeRestarted(NodeId node, Actions* actions) {
  OnNodeLost(actions);
  if (!tree_.InSubtree(node, self_)) return;
  for (auto& [nspace, ask] : asked_) Send(nspace, &ask, actions);
}

void JobMaps::OnTick(TimeNs now) {
  std::erase_if(asked_, [&](const auto& item) {
    if (item.second.deadline > now) return false;
    unknown_.push_back(item.first);
    return true;
  });
}

TimeNs JobMaps::NextDeadline() const {
  TimeNs next = kNever;
  for (const auto& [nspace, ask] : asked_) next = std::min(next, ask.deadline);
  return next;
}

std::vector<std::string> JobMaps::TakeUnknown() {
  return std::exchange(unknown_, {});
}

}  // namespace canopy::core
