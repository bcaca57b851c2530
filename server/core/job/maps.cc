#include "server/core/job/maps.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "common/status.h"

namespace canopy::core {
namespace {

// A job counts as unknown if no answer has arrived after this time.
constexpr TimeNs kPatience = 10'000'000'000;
// Maximum number of jobs that other agents may offer.
constexpr size_t kMaxOffered = 65536;

}  // namespace

JobMaps::JobMaps(NodeId self, const Tree& tree, JobTable& jobs)
    : self_(self), tree_(tree), jobs_(jobs) {}

bool JobMaps::HasOtherRoot() const {
  const NodeId root = tree_.root();
  return root != self_ && root != kNoNode;
}

void JobMaps::Want(const StepContext& step, const std::string& nspace) {
  if (jobs_.Find(nspace) != nullptr || asked_.contains(nspace)) return;
  if (!HasOtherRoot()) {
    Post(MapUnknown{nspace});
    return;
  }
  Ask& ask = asked_[nspace];
  ask.deadline = step.now + kPatience;
  Send(step, nspace, &ask);
}

void JobMaps::Send(const StepContext& step, const std::string& nspace,
                   Ask* ask) {
  ask->request = next_request_++;
  ask->node = tree_.root();
  const JobMapRequest request{ask->request, nspace};
  step.out.push_back(SendPeer{PeerMessage{self_, ask->node, request}});
}

void JobMaps::OnRequest(const StepContext& step, NodeId src,
                        const JobMapRequest& request, Facts facts) {
  JobMapReply reply{request.request, kErrNotFound, request.nspace, {}};
  if (const Job* job = jobs_.Find(request.nspace)) {
    reply.status = kSuccess;
    if (!request.exists_only) {
      reply.spec = Bytes(EncodeJobSpec(*job->spec));
      reply.lost = std::move(facts.lost);
      reply.controller = facts.controller;
    }
    jobs_.AddReader(request.nspace, src);
  }
  step.out.push_back(SendPeer{PeerMessage{self_, src, std::move(reply)}});
}

void JobMaps::OnReply(NodeId src, const JobMapReply& reply) {
  const auto it = asked_.find(reply.nspace);
  if (it == asked_.end() || it->second.request != reply.request ||
      it->second.node != src) {
    return OnCheckReply(src, reply);
  }
  const std::string nspace = it->first;
  asked_.erase(it);
  const NodeId controller = reply.controller.value_or(kNoNode);
  if (reply.status != kSuccess ||
      !Borrow(src, nspace, reply.spec, controller)) {
    return Post(MapUnknown{nspace});
  }
  MarkLost(nspace, reply.lost);
}

// ----------------------------------------------- maps that were not requested

void JobMaps::Offer(const StepContext& step, const std::string& nspace,
                    NodeId to, std::vector<NodeId> lost) {
  const Job* job = jobs_.Find(nspace);
  if (job == nullptr || !tree_.alive(to)) return;
  JobMapReply offer{0, kSuccess, nspace, Bytes(EncodeJobSpec(*job->spec)),
                    std::move(lost)};
  offer.controller = self_;
  jobs_.AddReader(nspace, to);
  step.out.push_back(SendPeer{PeerMessage{self_, to, std::move(offer)}});
}

void JobMaps::OnOffered(const StepContext& step, NodeId src,
                        const JobMapReply& reply) {
  if (!TakeOffer(step, src, reply)) return;
  if (borrowed_.contains(reply.nspace)) MarkLost(reply.nspace, reply.lost);
  offered_.insert(reply.nspace);
  step.out.push_back(
      JobElsewhere{reply.nspace, jobs_.Find(reply.nspace)->spec, src});
}

// Returns whether the table has the job's map. The end of the job may have
// overtaken the offer on another route, so the lender is queried.
bool JobMaps::TakeOffer(const StepContext& step, NodeId src,
                        const JobMapReply& reply) {
  const std::string& nspace = reply.nspace;
  if (jobs_.Find(nspace) == nullptr) {
    if (offered_.size() >= kMaxOffered ||
        !Borrow(src, nspace, reply.spec, src)) {
      return false;
    }
    asked_.erase(nspace);
  }
  const auto loan = borrowed_.find(nspace);
  if (loan == borrowed_.end()) return true;
  if (loan->second.lender == src) Check(step, nspace, &loan->second);
  return true;
}

// Records nodes whose present agents have none of the job's ranks. This agent
// may be one of them.
void JobMaps::MarkLost(const std::string& nspace,
                       const std::vector<NodeId>& lost) {
  const Job* job = jobs_.Find(nspace);
  for (const NodeId agent : lost) {
    const uint32_t node = job->layout->node_of_agent(agent);
    if (node == kNoNode) continue;
    for (const Rank rank : job->layout->ranks_on(node)) {
      jobs_.MarkEnded(nspace, rank);
    }
  }
}

// Adds the map of a job that `src` has sent. Returns false if the bytes are not
// that map.
bool JobMaps::Borrow(NodeId src, const std::string& nspace, const Bytes& bytes,
                     NodeId controller) {
  Result<JobSpec> spec = DecodeJobSpec(bytes.view());
  if (!spec.ok() || spec->nspace != nspace) return false;
  if (jobs_.Add(std::make_shared<const JobSpec>(std::move(*spec)))) {
    borrowed_.emplace(nspace, Loan{src});
    jobs_.SetLentBy(nspace, controller);
  }
  return true;
}

void JobMaps::OnLent(NodeId src, const std::string& nspace, const Bytes& spec) {
  if (jobs_.Find(nspace) == nullptr && Borrow(src, nspace, spec, src)) {
    asked_.erase(nspace);
  }
}

void JobMaps::OnCheckReply(NodeId src, const JobMapReply& reply) {
  const auto it = borrowed_.find(reply.nspace);
  if (it == borrowed_.end() || it->second.lender != src ||
      it->second.check != reply.request) {
    return;
  }
  if (reply.status == kErrNotFound) Forget(reply.nspace);
}

void JobMaps::Keep(const StepContext& step, const std::string& nspace,
                   NodeId lender) {
  if (jobs_.Find(nspace) == nullptr) return;
  Loan& loan = borrowed_[nspace];
  loan.lender = lender;
  jobs_.SetLentBy(nspace, lender);
  if (tree_.alive(lender)) return Check(step, nspace, &loan);
  DropLost(step);
}

// Queries the lender whether the job is over. If it is not, the lender will
// report its end.
void JobMaps::Check(const StepContext& step, const std::string& nspace,
                    Loan* loan) {
  loan->check = next_request_++;
  const JobMapRequest check{loan->check, nspace, true};
  step.out.push_back(SendPeer{PeerMessage{self_, loan->lender, check}});
}

void JobMaps::OnForget(NodeId src, const std::string& nspace) {
  const auto asked = asked_.find(nspace);
  const auto borrowed = borrowed_.find(nspace);
  if ((asked != asked_.end() && asked->second.node == src) ||
      (borrowed != borrowed_.end() && borrowed->second.lender == src)) {
    Forget(nspace);
  }
}

void JobMaps::Forget(const std::string& nspace) {
  // The job's end may have overtaken its map, which would then never be
  // released.
  if (asked_.erase(nspace) > 0) Post(MapUnknown{nspace});
  if (borrowed_.erase(nspace) > 0) jobs_.Remove(nspace);
}

void JobMaps::OnPrepare(const Bytes& bytes) {
  if (borrowed_.empty()) return;
  const Result<JobSpec> spec = DecodeJobSpec(bytes.view());
  if (!spec.ok() || borrowed_.erase(spec->nspace) == 0) return;
  // Only the registration is withdrawn. The records of the job's collectives
  // and connections stay in the table.
  jobs_.Unregister(spec->nspace);
  jobs_.SetLentBy(spec->nspace, kNoNode);
}

void JobMaps::OnJobRemoved(const StepContext& step, const RemovedJob& job) {
  if (offered_.erase(job.nspace) > 0) {
    step.out.push_back(JobElsewhere{job.nspace, nullptr, kNoNode});
  }
  for (const NodeId reader : job.readers) {
    if (!tree_.alive(reader)) continue;
    step.out.push_back(
        SendPeer{PeerMessage{self_, reader, JobForget{job.nspace}}});
  }
}

void JobMaps::OnNodeLost(const StepContext& step, const NodeStateChanged&) {
  CheckAll(step);
}

void JobMaps::CheckAll(const StepContext& step) {
  for (auto& [nspace, loan] : borrowed_) {
    if (tree_.alive(loan.lender)) Check(step, nspace, &loan);
  }
}

void JobMaps::OnTreeChanged(const StepContext& step) { DropLost(step); }

void JobMaps::DropLost(const StepContext& step) {
  // A lost lender cannot report the job's end, so the map is dropped. It is
  // requested again when needed.
  std::vector<std::string> unsure;
  for (const auto& [nspace, loan] : borrowed_) {
    if (!tree_.alive(loan.lender)) unsure.push_back(nspace);
  }
  for (const std::string& nspace : unsure) Forget(nspace);
  if (!HasOtherRoot()) {
    for (const auto& [nspace, ask] : asked_) Post(MapUnknown{nspace});
    asked_.clear();
  }
  // The request is repeated even to the same root, because the request, or the
  // job's end that follows the answer, may be lost with an agent on the way. An
  // answer to the earlier request is not accepted.
  for (auto& [nspace, ask] : asked_) Send(step, nspace, &ask);
}

// A request or its answer may have been lost with the agent, so it is repeated.
void JobMaps::OnNodeRestarted(const StepContext& step, NodeId node) {
  CheckAll(step);
  if (!tree_.InSubtree(node, self_)) return;
  for (auto& [nspace, ask] : asked_) Send(step, nspace, &ask);
}

void JobMaps::OnTick(const StepContext& step) {
  std::erase_if(asked_, [&](const auto& item) {
    if (item.second.deadline > step.now) return false;
    Post(MapUnknown{item.first});
    return true;
  });
}

TimeNs JobMaps::NextDeadline() const {
  TimeNs next = kNever;
  for (const auto& [nspace, ask] : asked_) next = std::min(next, ask.deadline);
  return next;
}

}  // namespace canopy::core
