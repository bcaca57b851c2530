#include "server/core/host/host_calls.h"

#include <algorithm>
#include <utility>

#include "common/status.h"
#include "server/core/job/text.h"
#include "server/core/request_number.h"

namespace canopy::core {
namespace {

// Maximum number of refused directives named in the log. It is bounded because
// callers choose the names.
constexpr size_t kMaxLogged = 64;

bool IsThere(const Job& job, Rank rank) {
  return rank == kRankWildcard || rank < job.num_ranks();
}

}  // namespace

HostCalls::HostCalls(NodeId self, const Tree& tree, const JobTable& jobs,
                     JobEngine& engine, const ProcessSets& sets)
    : self_(self),
      jobs_(jobs),
      engine_(engine),
      sets_(sets),
      targets_(self, tree, jobs, engine) {}

// ------------------------------------------------------ the caller's agent ---

void HostCalls::OnArrived(const StepContext& step, const HostCallArrived& in) {
  const ProcId* caller = jobs_.ProcOf(in.client);
  if (const int refusal = Refusal(caller, in); refusal != kSuccess) {
    step.out.push_back(ReplyClient{in.client, in.request, refusal, {}});
    return;
  }
  if (in.op == HostOp::kJobControl) {
    ControlJobs(step, *caller, in);
  } else {
    AskLocalHost(step, *caller, in);
  }
}

int HostCalls::Refusal(const ProcId* caller, const HostCallArrived& in) const {
  if (caller == nullptr || !jobs_.OwnerOf(*caller)) return kErrInit;
  const ClientId client = in.client;
  const auto is_of_client = [client](const auto& entry) {
    return entry.second.client == client;
  };
  const auto count = std::ranges::count_if(calls_, is_of_client) +
                     std::ranges::count_if(controls_, is_of_client);
  return static_cast<size_t>(count) < kMaxHostCalls ? kSuccess
                                                    : kErrOutOfResource;
}

void HostCalls::AskLocalHost(const StepContext& step, const ProcId& caller,
                             const HostCallArrived& in) {
  const uint64_t number = next_++;
  calls_[number] = {in.client, in.request, caller.nspace, step.now};
  const Job* job = jobs_.Find(caller.nspace);
  const Owner owner = *jobs_.OwnerOf(caller);
  step.out.push_back(AskHost{number, in.op, caller,
                             RequestNumber(jobs_, caller, in.request),
                             owner.uid, owner.gid, in.targets, in.call,
                             job == nullptr ? "" : job->spec->host_job});
}

void HostCalls::OnAnswered(const StepContext& step, const HostAnswered& in) {
  const auto call = calls_.extract(in.number);
  if (call.empty()) return;
  step.out.push_back(ReplyClient{call.mapped().client, call.mapped().request,
                                 in.status, in.results});
}

void HostCalls::ControlJobs(const StepContext& step, const ProcId& caller,
                            const HostCallArrived& in) {
  JobControl control;
  int status = ParseJobControl(in.call, &control);
  LogRefused(step, control);
  if (status == kSuccess && control.cleanup) {
    // Only a caller with a job can register files, because they are removed at
    // the end of that job.
    if (jobs_.Find(caller.nspace) != nullptr) {
      return AskLocalHost(step, caller, in);
    }
    status = kErrNotSupported;
  }
  if (status == kSuccess && in.call.size() > kMaxControlCall) {
    status = kErrOutOfResource;
  }
  if (status == kSuccess && !control.pset) {
    return SendToJobs(step, caller, in, control);
  }
  std::optional<EventRaised> defined;
  if (status == kSuccess) {
    status = DefineSet(caller, in, *control.pset, &defined);
  }
  ReplyClient reply{in.client, in.request, status, ControlResults(control)};
  if (!defined) return step.out.push_back(std::move(reply));
  Post(EventDue{std::move(*defined)});
  Post(ReplyDue{std::move(reply)});
}

// Sets `*defined` to the event that announces the new set.
int HostCalls::DefineSet(const ProcId& caller, const HostCallArrived& in,
                         const std::string& name,
                         std::optional<EventRaised>* defined) const {
  // A set ends with the job of the process that defines it, so a tool cannot
  // define one.
  if (jobs_.Find(caller.nspace) == nullptr) return kErrNotSupported;
  std::vector<ProcId> members = in.targets;
  int status = ResolveTargets(caller, &members);
  if (status != kSuccess) return status;
  if (members.empty()) members.push_back({caller.nspace, kRankWildcard});
  const uint64_t id = RequestNumber(jobs_, caller, in.request);
  // A repetition of the request, as after a recovery, succeeds without another
  // event.
  if (sets_.IsDefined(caller, id, name)) return kSuccess;
  status = sets_.Check(caller.nspace, name, members);
  if (status == kSuccess) *defined = sets_.Define(caller, id, name, members);
  return status;
}

void HostCalls::LogRefused(const StepContext& step, const JobControl& control) {
  for (const std::string& key : control.refused) {
    if (logged_.size() >= kMaxLogged || !logged_.insert(key).second) continue;
    step.out.push_back(
        LogLine{LogLine::Level::kInfo,
                "job control: directive " + OneLine(key) + " is not honoured"});
  }
}

int HostCalls::ResolveTargets(const ProcId& caller,
                              std::vector<ProcId>* targets) const {
  const Owner from = *jobs_.OwnerOf(caller);
  // A tool has no job, so it has no default target.
  const bool is_tool = jobs_.Find(caller.nspace) == nullptr;
  if (is_tool && targets->empty()) return kErrBadParam;
  for (ProcId& target : *targets) {
    if (target.nspace.empty()) target.nspace = caller.nspace;
    if (is_tool && target.nspace == caller.nspace) return kErrNotFound;
    const Job* to = jobs_.Find(target.nspace);
    if (to == nullptr) continue;
    if (from.uid != to->spec->uid) return kErrNoPermissions;
    if (!IsThere(*to, target.rank)) return kErrNotFound;
  }
  return kSuccess;
}

void HostCalls::SendToJobs(const StepContext& step, const ProcId& caller,
                           const HostCallArrived& in,
                           const JobControl& control) {
  const ControlId id{caller, RequestNumber(jobs_, caller, in.request)};
  if (const auto known = controls_.find(id); known != controls_.end()) {
    known->second.client = in.client;
    known->second.request = in.request;
    return;
  }
  std::vector<ProcId> targets = in.targets;
  if (const int status = ResolveTargets(caller, &targets); status != kSuccess) {
    step.out.push_back(
        ReplyClient{in.client, in.request, status, ControlResults(control)});
    return;
  }
  if (targets.empty()) targets.push_back({caller.nspace, kRankWildcard});
  const Owner owner = *jobs_.OwnerOf(caller);
  Control& added = controls_[id];
  added.client = in.client;
  added.request = in.request;
  added.since = step.now;
  added.ends = control.action != ControlAction::kSignal;
  added.results = ControlResults(control);
  HostRequest request{caller,    id.request, HostOp::kJobControl,
                      owner.uid, owner.gid,  "",
                      {},        in.call};
  for (const ProcId& target : targets) {
    request.nspace = target.nspace;
    added.open.try_emplace(target.nspace, request)
        .first->second.targets.push_back(target);
  }
  SendAll(step, id);
  PassAnswers(step);
}

void HostCalls::SendAll(const StepContext& step, const ControlId& id) {
  const auto control = controls_.find(id);
  if (control == controls_.end()) return;
  for (const auto& [nspace, request] : control->second.open) {
    const NodeId to = engine_.ControllerOf(nspace);
    if (to == self_) {
      targets_.OnRequest(step, self_, request);
    } else {
      step.out.push_back(SendPeer{PeerMessage{self_, to, request}});
    }
  }
}

void HostCalls::OnReply(const StepContext& step, NodeId src,
                        const HostReply& reply) {
  if (engine_.ControllerOf(reply.nspace) == self_ && src != self_) {
    targets_.OnReply(src, reply);
    return PassAnswers(step);
  }
  if (src != engine_.ControllerOf(reply.nspace)) return;
  const auto it = controls_.find({reply.proc, reply.request});
  if (it == controls_.end()) return;
  Control& control = it->second;
  if (control.open.erase(reply.nspace) == 0) return;
  // After a repetition, "not found" means that the job has ended together with
  // the agent that controlled it.
  const bool gone =
      reply.status == kErrNotFound && control.repeated && control.ends;
  if (control.status == kSuccess && !gone) control.status = reply.status;
  if (!control.open.empty()) return;
  step.out.push_back(ReplyClient{control.client, control.request,
                                 control.status, control.results});
  controls_.erase(it);
}

// ------------------------------------------------------ the targets' side ---

void HostCalls::OnRequest(const StepContext& step, NodeId src,
                          const HostRequest& request) {
  if (request.op == HostOp::kJobControl) {
    targets_.OnRequest(step, src, request);
    return PassAnswers(step);
  }
  step.out.push_back(SendPeer{PeerMessage{self_, src,
                                          HostReply{request.proc,
                                                    request.request,
                                                    request.nspace,
                                                    kErrNotSupported,
                                                    {}}}});
}

void HostCalls::PassAnswers(const StepContext& step) {
  for (ControlTargets::Answer& answer : targets_.TakeAnswers()) {
    if (answer.to == self_) {
      OnReply(step, self_, answer.reply);
    } else {
      step.out.push_back(
          SendPeer{PeerMessage{self_, answer.to, std::move(answer.reply)}});
    }
  }
}

// --------------------------------------------------------------- changes ---

void HostCalls::OnClientGone(const StepContext& /*step*/, ClientId client) {
  const auto is_of_client = [client](const auto& entry) {
    return entry.second.client == client;
  };
  std::erase_if(calls_, is_of_client);
  std::erase_if(controls_, is_of_client);
}

void HostCalls::OnLaunched(const StepContext& step, const std::string& nspace) {
  targets_.OnLaunched(step, nspace);
  PassAnswers(step);
}

void HostCalls::OnRankGone(const StepContext& step, const ProcId& proc) {
  targets_.OnRankGone(proc);
  PassAnswers(step);
}

void HostCalls::OnJobRecovered(const StepContext& /*step*/,
                               const JobRecovered& in) {
  for (const PersistedRecord& record : in.records) {
    Recover(in.job->nspace, record);
  }
}

void HostCalls::OnJobRemoved(const StepContext& step, const RemovedJob& job) {
  std::erase_if(controls_, [&](const auto& entry) {
    return entry.first.proc.nspace == job.nspace;
  });
  targets_.OnJobRemoved(job.nspace);
  PassAnswers(step);
}

void HostCalls::OnTreeChanged(const StepContext& step) {
  targets_.OnTreeChanged(step);
  std::vector<ControlId> ids;
  for (auto& [id, control] : controls_) {
    control.repeated = true;
    ids.push_back(id);
  }
  for (const ControlId& id : ids) SendAll(step, id);
  PassAnswers(step);
}

// ------------------------------------------------------------------ time ---

void HostCalls::OnTick(const StepContext& step) {
  targets_.OnTick(step.now);
  PassAnswers(step);
  std::erase_if(controls_, [&](const auto& entry) {
    const Control& control = entry.second;
    if (control.since + kControlTimeout > step.now) return false;
    step.out.push_back(ReplyClient{control.client, control.request, kErrTimeout,
                                   control.results});
    return true;
  });
}

TimeNs HostCalls::NextDeadline() const {
  TimeNs next = targets_.NextDeadline();
  for (const auto& [id, control] : controls_) {
    next = std::min(next, control.since + kControlTimeout);
  }
  return next;
}

void HostCalls::Describe(TimeNs now, const std::string& nspace,
                         std::vector<Waiting>* out) const {
  const auto add = [&](const std::string& job, std::string operation,
                       TimeNs since) {
    if (!nspace.empty() && job != nspace) return;
    Waiting waiting;
    waiting.nspace = job;
    waiting.operation = std::move(operation);
    waiting.callers = 1;
    waiting.age_ms = static_cast<uint64_t>(now - since) / 1'000'000;
    out->push_back(std::move(waiting));
  };
  for (const auto& [number, call] : calls_) {
    add(call.nspace, "an answer of the host", call.since);
  }
  for (const auto& [id, control] : controls_) {
    for (const auto& [job, request] : control.open) {
      add(id.proc.nspace, "job control of " + job, control.since);
    }
  }
  targets_.Describe(now, nspace, out);
}

}  // namespace canopy::core
