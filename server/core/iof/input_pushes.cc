#include "server/core/iof/input_pushes.h"

#include <algorithm>
#include <utility>

#include "common/bytes.h"
#include "common/job.h"
#include "common/status.h"

namespace canopy::core {
namespace {

// Returns true if the targets are exactly the job's input target: all processes
// or one rank.
bool IsTarget(const JobSpec& spec, const std::vector<ProcId>& targets) {
  if (spec.stdin_target == StdinTarget::kNone || targets.empty()) return false;
  return std::ranges::all_of(targets, [&](const ProcId& target) {
    return spec.stdin_target == StdinTarget::kAll
               ? target.rank == kRankWildcard
               : target.rank == spec.stdin_rank;
  });
}

}  // namespace

int InputPushes::Check(const HostRequest& request) const {
  const Job* job = jobs_.Find(request.nspace);
  if (job == nullptr) return kErrNotFound;
  const JobSpec& spec = *job->spec;
  if (request.uid != spec.uid) return kErrNoPermissions;
  return spec.forwarding.input && IsTarget(spec, request.targets)
             ? kSuccess
             : kErrNotSupported;
}

// Returns true if the push has arrived before, and sets `*answered` if it was
// answered. The answer to a pending push goes to the agent that sent it last.
bool InputPushes::IsKnown(NodeId src, const HostRequest& request, Input* input,
                          bool* answered) {
  for (Pending& pending : input->pending) {
    if (pending.pusher.proc != request.proc ||
        pending.pusher.request != request.request) {
      continue;
    }
    pending.pusher.node = src;
    return true;
  }
  *answered = input->answered.Knows({request.proc, request.request});
  return *answered;
}

std::optional<int> InputPushes::OnRequest(const StepContext& step, NodeId src,
                                          const HostRequest& request) {
  InputPush push;
  if (!wire::Decode(request.call, &push) || push.empty()) return kErrBadParam;
  if (const int status = Check(request); status != kSuccess) return status;
  Input& input = inputs_[request.nspace];
  bool answered = false;
  if (IsKnown(src, request, &input, &answered)) {
    if (answered) return kSuccess;
    return std::nullopt;
  }
  if (input.closed) return kErrIofComplete;
  if (input.pushed - input.taken + push.data.size() > kMaxPushed) {
    return kErrOutOfResource;
  }
  input.pushed += push.data.size();
  input.closed = push.complete;
  input.pending.push_back({{src, request.proc, request.request}, input.pushed});
  const bool closes = push.complete;
  if (!push.data.empty()) {
    engine_.OnInputOffered(step, {request.nspace, push.data});
  }
  if (closes) engine_.OnInputOffered(step, {request.nspace, {}});
  const auto still = inputs_.find(request.nspace);
  if (still != inputs_.end()) AnswerTaken(request.nspace, &still->second);
  return std::nullopt;
}

void InputPushes::OnTaken(const std::string& nspace, uint64_t bytes) {
  const auto known = inputs_.find(nspace);
  if (known == inputs_.end()) return;
  known->second.taken += bytes;
  AnswerTaken(nspace, &known->second);
}

void InputPushes::AnswerTaken(const std::string& nspace, Input* input) {
  while (!input->pending.empty() &&
         input->pending.front().end <= input->taken) {
    const Pusher& pusher = input->pending.front().pusher;
    input->answered.Note({pusher.proc, pusher.request});
    answers_.push_back({pusher, nspace, kSuccess});
    input->pending.pop_front();
  }
}

// The job takes no more input, so pending pushes fail.
void InputPushes::OnJobRemoved(const std::string& nspace) {
  const auto input = inputs_.extract(nspace);
  if (input.empty()) return;
  for (const Pending& pending : input.mapped().pending) {
    answers_.push_back({pending.pusher, nspace, kErrIofComplete});
  }
}

void InputPushes::OnNodeLost(NodeId node) {
  for (auto& [nspace, input] : inputs_) {
    for (Pending& pending : input.pending) {
      if (pending.pusher.node == node) pending.pusher.node = kNoNode;
    }
  }
}

size_t InputPushes::size() const {
  size_t count = 0;
  for (const auto& [nspace, input] : inputs_) count += input.pending.size();
  return count;
}

}  // namespace canopy::core
