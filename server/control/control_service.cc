#include "server/control/control_service.h"

#include <absl/status/status.h>
#include <signal.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/placement_text.h"
#include "common/string_util.h"
#include "common/text.h"
#include "common/user_calls.h"
#include "protos/control.grpc.pb.h"
#include "server/control/job_map.h"
#include "server/control/placement_request.h"
#include "server/control/run_stream.h"
#include "server/control/user_limits.h"
#include "server/control/waiting.h"
#include "server/rpc/status.h"

namespace canopy::control {
namespace {

const char* PhaseName(const JobRecord& record) {
  const bool ends = record.phase >= core::JobPhase::kEnding;
  if (record.facts.suspended && !ends) return "suspended";
  switch (record.phase) {
    case core::JobPhase::kPreparing:
      return "preparing";
    case core::JobPhase::kStarting:
      return "starting";
    case core::JobPhase::kRunning:
      return "running";
    case core::JobPhase::kEnding:
      return "ending";
    case core::JobPhase::kEnded:
      return "ended";
  }
  return "unknown";
}

using Answers = std::vector<core::StateCollected>;

// Marks a silent member as away if its parent in the tree has answered. The
// descendants of the member are silent too, because messages to them pass
// through it.
void MarkAway(const Answers& answers, v1::StatusReply* reply) {
  const auto answered = [&](int64_t node) {
    return std::ranges::any_of(answers,
                               [&](const auto& a) { return a.node == node; });
  };
  if (answers.empty()) return;
  for (v1::NodeStatus& node : *reply->mutable_nodes()) {
    node.set_away(node.up() && !answered(node.node()) &&
                  (node.parent() < 0 || answered(node.parent())));
  }
}

void FillJob(const std::string& nspace, const JobRecord& record,
             v1::JobStatus* out) {
  const JobSpec& job = *record.job;
  out->set_nspace(nspace);
  out->set_name(Printable(job.name));
  out->set_phase(PhaseName(record));
  out->set_command(Printable(CommandOf(job)));
  out->set_num_procs(static_cast<uint32_t>(job.procs.size()));
  out->set_num_nodes(static_cast<uint32_t>(job.nodes.size()));
  out->set_procs_ended(record.procs_ended);
  out->set_uid(job.uid);
  out->set_age_seconds(
      static_cast<uint64_t>((EventLoop::Now() - record.since) / 1000000000));
  out->set_parent(job.parent.nspace);
  out->set_tool(record.facts.tool);
  FillJobMap(job, out->mutable_nodes());
}

void FillQueued(const QueuedJob& job, v1::JobStatus* out) {
  const PlacementRequest& request = job.request;
  out->set_nspace(request.id.request);
  out->set_name(Printable(request.job.name));
  out->set_phase("queued");
  out->set_command(Printable(CommandOf(request)));
  out->set_num_procs(NumProcs(request));
  out->set_uid(request.caller.uid);
  const int64_t age = WallClockMs() - request.since_ms;
  out->set_age_seconds(static_cast<uint64_t>(std::max<int64_t>(age, 0) / 1000));
  out->set_parent(request.parent);
  out->set_reason(Printable(job.state.reason));
  out->set_position(job.state.position);
}

// A call of Control.Run that is refused before it has a launcher.
class RefusedRun
    : public grpc::ServerBidiReactor<v1::RunRequest, v1::RunEvent> {
 public:
  explicit RefusedRun(const canopy::Status& why) {
    Finish(rpc::ToGrpc(rpc::ToAbsl(why)));
  }
  void OnDone() override { delete this; }
};

absl::Status NoJob(const std::string& nspace) {
  return absl::NotFoundError("no job " + nspace +
                             "; 'canopy ps' lists the jobs");
}

}  // namespace

class ControlService::Impl : public v1::Control::CallbackService {
 public:
  Impl(EventLoop* loop, JobManager* job_manager, AgentView view)
      : loop_(loop), job_manager_(job_manager), view_(std::move(view)) {}

  grpc::ServerBidiReactor<v1::RunRequest, v1::RunEvent>* Run(
      grpc::CallbackServerContext* context) override {
    const Result<Caller> caller = CallerOf(*context);
    if (!caller.ok()) return new RefusedRun(caller.status());
    const uint64_t id = job_manager_->NewLauncher();
    auto* stream = new RunStream(id, loop_, job_manager_);
    loop_->Post([this, id, stream, caller = *caller] {
      job_manager_->OnLauncher(id, stream, caller);
      stream->Begin();
    });
    return stream;
  }

  grpc::ServerUnaryReactor* Status(grpc::CallbackServerContext* context,
                                   const v1::StatusRequest* request,
                                   v1::StatusReply* reply) override {
    return OnLoop(context, [this, request, reply](const Caller&, auto finish) {
      const auto answer = [this, reply, finish](const auto& answers) {
        *reply = view_.status();
        FillCounts(reply);
        MarkAway(answers, reply);
        finish(absl::OkStatus());
      };
      if (!request->ask_all()) return answer(Answers());
      job_manager_->CollectState("status", "", answer);
    });
  }

  grpc::ServerUnaryReactor* ListJobs(grpc::CallbackServerContext* context,
                                     const v1::ListJobsRequest*,
                                     v1::ListJobsReply* reply) override {
    return OnLoop(context, [this, reply](const Caller& caller, auto finish) {
      for (const auto& [nspace, record] : job_manager_->known_jobs()) {
        if (!caller.MayControl(record.job->uid)) continue;
        v1::JobStatus* const job = reply->add_jobs();
        FillJob(nspace, record, job);
        if (record.controller == kNoNode) continue;
        job->set_controller(view_.node_name(record.controller));
      }
      job_manager_->queued().ForEach([&](const QueuedJob& job) {
        if (!caller.MayControl(job.request.caller.uid)) return;
        FillQueued(job, reply->add_jobs());
      });
      FillUsers(caller, reply);
      finish(absl::OkStatus());
    });
  }

  grpc::ServerUnaryReactor* Why(grpc::CallbackServerContext* context,
                                const v1::WhyRequest* request,
                                v1::WhyReply* reply) override {
    return OnLoop(
        context, [this, request, reply](const Caller& caller, auto finish) {
          // No agent is asked about a job that the caller may not know of.
          if (!caller.is_operator && !request->nspace().empty() &&
              !IsVisible(caller, request->nspace())) {
            return finish(absl::OkStatus());
          }
          job_manager_->CollectState(
              "why", request->nspace(),
              [this, request, reply, caller, finish](const auto& answers) {
                FillWaiting(answers, view_.node_name, reply);
                AddQueued(request->nspace(), reply);
                KeepVisible(caller, reply);
                finish(absl::OkStatus());
              });
        });
  }

  grpc::ServerUnaryReactor* SignalJob(grpc::CallbackServerContext* context,
                                      const v1::SignalJobRequest* request,
                                      v1::SignalJobReply*) override {
    return OnLoop(context, [this, request](const Caller& caller, auto finish) {
      if (!IsVisible(caller, request->nspace())) {
        return finish(NoJob(request->nspace()));
      }
      if (job_manager_->queued().Waiting(request->nspace())) {
        return finish(SignalQueued(*request));
      }
      job_manager_->SignalJob(request->nspace(), request->signal());
      finish(absl::OkStatus());
    });
  }

  grpc::ServerUnaryReactor* Shutdown(grpc::CallbackServerContext* context,
                                     const v1::ShutdownRequest* request,
                                     v1::ShutdownReply*) override {
    return ForOperators(context, [this, request](auto finish) {
      const std::string jobs = Unfinished();
      if (!jobs.empty() && !request->force()) {
        return finish(absl::FailedPreconditionError(
            "not over: " + jobs + "; wait for them or use --force"));
      }
      job_manager_->KillAll("the overlay is shut down", [this, finish] {
        finish(absl::OkStatus());
        view_.shut_down();
      });
    });
  }

  grpc::ServerUnaryReactor* Replace(grpc::CallbackServerContext* context,
                                    const v1::ReplaceRequest* request,
                                    v1::ReplaceReply*) override {
    return ForOwners(context, [this, request](auto finish) {
      view_.replace(request->program(), [finish](const canopy::Status& status) {
        finish(status.ok() ? absl::OkStatus()
                           : absl::FailedPreconditionError(status.message()));
      });
    });
  }

  grpc::ServerUnaryReactor* AddNodes(grpc::CallbackServerContext* context,
                                     const v1::AddNodesRequest* request,
                                     v1::AddNodesReply* reply) override {
    return ForOwners(context, [this, request, reply](auto finish) {
      finish(Fill(view_.add_nodes(*request), reply));
    });
  }

  grpc::ServerUnaryReactor* DecideNodes(grpc::CallbackServerContext* context,
                                        const v1::DecideNodesRequest* request,
                                        v1::DecideNodesReply* reply) override {
    return ForOperators(context, [this, request, reply](auto finish) {
      finish(Fill(view_.decide_nodes(*request), reply));
    });
  }

 private:
  // Moves the reply out of its result, or returns the error.
  template <typename Reply>
  static absl::Status Fill(Result<Reply> result, Reply* reply) {
    if (result.ok()) {
      *reply = *std::move(result);
      return absl::OkStatus();
    }
    const canopy::Status& error = result.status();
    return error.code() == kErrNotFound
               ? absl::NotFoundError(error.message())
               : absl::FailedPreconditionError(error.message());
  }

  void FillCounts(v1::StatusReply* reply) const {
    const size_t queued = job_manager_->queued().size();
    const size_t known = job_manager_->known_jobs().size();
    reply->set_queued(static_cast<uint32_t>(queued));
    reply->set_jobs(static_cast<uint32_t>(known + queued));
    reply->set_max_jobs_per_user(job_manager_->limits().jobs);
    reply->set_max_procs_per_user(job_manager_->limits().procs);
  }

  void FillUsers(const Caller& caller, v1::ListJobsReply* reply) const {
    auto loads =
        LoadOfUsers(job_manager_->known_jobs(), job_manager_->queued());
    (void)loads[caller.uid];
    for (const auto& [uid, load] : loads) {
      if (!caller.MayControl(uid)) continue;
      v1::UserUse* const use = reply->add_users();
      use->set_uid(uid);
      use->set_jobs(load.jobs);
      use->set_procs(load.procs);
      use->set_max_jobs(job_manager_->limits().jobs);
      use->set_max_procs(job_manager_->limits().procs);
    }
  }

  // Returns the names of the first jobs that run or are queued, and the number
  // of the others; empty if there are no jobs.
  std::string Unfinished() const {
    constexpr size_t kMaxNames = 8;
    std::vector<std::string> names;
    for (const auto& [nspace, record] : job_manager_->known_jobs()) {
      names.push_back(nspace);
    }
    job_manager_->queued().ForEach([&names](const QueuedJob& job) {
      names.push_back(job.request.id.request);
    });
    const size_t more = names.size() - std::min(names.size(), kMaxNames);
    names.resize(names.size() - more);
    return Join(names, ", ") +
           (more == 0 ? "" : " and " + std::to_string(more) + " more");
  }

  // Adds the queued jobs. An empty `nspace` means every job.
  void AddQueued(const std::string& nspace, v1::WhyReply* reply) {
    job_manager_->queued().ForEach([&](const QueuedJob& job) {
      if (!nspace.empty() && job.request.id.request != nspace) return;
      const int64_t age = WallClockMs() - job.request.since_ms;
      v1::Waiting* const waiting = reply->add_waiting();
      waiting->set_nspace(job.request.id.request);
      waiting->set_operation(kPlacementOperation);
      waiting->set_age_ms(static_cast<uint64_t>(std::max<int64_t>(age, 0)));
      waiting->add_missing(kPlacementPrefix + Printable(job.state.reason));
    });
  }

  // Handles a signal to a queued job, which has no processes yet. A signal that
  // would end processes removes the job from the queue.
  absl::Status SignalQueued(const v1::SignalJobRequest& request) {
    const int signal = request.signal();
    if (signal != SIGTERM && signal != SIGKILL && signal != SIGINT) {
      return absl::FailedPreconditionError("job " + request.nspace() +
                                           " is queued: it does not run yet");
    }
    job_manager_->CancelQueued(request.nspace(),
                               "it was killed while it was queued");
    return absl::OkStatus();
  }

  // Returns the user of a call. Blocks on the system's user database, so it is
  // not called on the loop thread.
  Result<Caller> CallerOf(const grpc::CallbackServerContext& context) const {
    const auto& metadata = context.client_metadata();
    const auto user = metadata.find(kUserMetadata);
    if (user == metadata.end()) return OwnUser();
    return FindUser({user->second.data(), user->second.size()},
                    view_.operators);
  }

  // Returns true if the caller may know of the job, which may be queued.
  bool IsVisible(const Caller& caller, const std::string& nspace) const {
    const std::optional<uint32_t> owner = OwnerOf(nspace);
    return owner && caller.MayControl(*owner);
  }

  // Returns the user of a job that runs or is queued, or no value if there is
  // no such job.
  std::optional<uint32_t> OwnerOf(const std::string& nspace) const {
    const JobRecords& jobs = job_manager_->known_jobs();
    const auto job = jobs.find(nspace);
    if (job != jobs.end()) return job->second.job->uid;
    std::optional<uint32_t> owner;
    job_manager_->queued().ForEach([&](const QueuedJob& queued) {
      if (queued.request.id.request == nspace) {
        owner = queued.request.caller.uid;
      }
    });
    return owner;
  }

  // Removes the operations that the caller may not know of. Those of tools have
  // no job, so only operators see them.
  void KeepVisible(const Caller& caller, v1::WhyReply* reply) const {
    if (caller.is_operator) return;
    auto* const all = reply->mutable_waiting();
    all->erase(std::remove_if(all->begin(), all->end(),
                              [&](const v1::Waiting& waiting) {
                                return !IsVisible(caller, waiting.nspace());
                              }),
               all->end());
  }

  // Runs `work` on the loop thread with the caller and a function that finishes
  // the call.
  template <typename Work>
  grpc::ServerUnaryReactor* OnLoop(grpc::CallbackServerContext* context,
                                   Work work) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    const Result<Caller> caller = CallerOf(*context);
    if (!caller.ok()) {
      reactor->Finish(rpc::ToGrpc(rpc::ToAbsl(caller.status())));
      return reactor;
    }
    loop_->Post(
        [loop = loop_, reactor, caller = *caller, work = std::move(work)] {
          loop->AssertOnThread();
          work(caller, [reactor](const absl::Status& status) {
            reactor->Finish(rpc::ToGrpc(status));
          });
        });
    return reactor;
  }

  // Like OnLoop, for calls that change the overlay.
  template <typename Work>
  grpc::ServerUnaryReactor* ForOperators(grpc::CallbackServerContext* context,
                                         Work work) {
    return ForSome(context, &Caller::is_operator, "is no operator of",
                   std::move(work));
  }
  // Like OnLoop, for calls that give a caller the rights of the agents.
  template <typename Work>
  grpc::ServerUnaryReactor* ForOwners(grpc::CallbackServerContext* context,
                                      Work work) {
    return ForSome(context, &Caller::owns_agents, "does not own",
                   std::move(work));
  }
  template <typename Work>
  grpc::ServerUnaryReactor* ForSome(grpc::CallbackServerContext* context,
                                    bool Caller::*right, const char* lacks,
                                    Work work) {
    return OnLoop(context, [right, lacks, work = std::move(work)](
                               const Caller& caller, auto finish) {
      if (caller.*right) return work(finish);
      finish(absl::PermissionDeniedError("user " + caller.user + " " + lacks +
                                         " these agents, and may not do that"));
    });
  }

  EventLoop* const loop_;
  JobManager* const job_manager_;
  const AgentView view_;
};

ControlService::ControlService(EventLoop* loop, JobManager* job_manager,
                               AgentView view)
    : impl_(std::make_unique<Impl>(loop, job_manager, std::move(view))) {}

ControlService::~ControlService() = default;

grpc::Service* ControlService::service() { return impl_.get(); }

}  // namespace canopy::control
