#include "server/control/control_service.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/text.h"
#include "protos/control.grpc.pb.h"
#include "server/control/run_stream.h"
#include "server/control/waiting.h"

namespace canopy::control {
namespace {

const char* PhaseName(core::JobPhase phase) {
  switch (phase) {
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

std::string CommandOf(const JobSpec& job) {
  std::string command;
  for (const JobApp& app : job.apps) {
    if (!command.empty()) command += " : ";
    for (const std::string& arg : app.argv) {
      if (!command.empty() && command.back() != ' ') command += ' ';
      command += arg;
    }
  }
  return command;
}

using Answers = std::vector<core::StateCollected>;

// Below one that does not answer, others can not be heard.
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
  out->set_phase(PhaseName(record.phase));
  out->set_command(Printable(CommandOf(job)));
  out->set_num_procs(static_cast<uint32_t>(job.procs.size()));
  out->set_num_nodes(static_cast<uint32_t>(job.nodes.size()));
  out->set_procs_ended(record.procs_ended);
  out->set_uid(job.uid);
  out->set_age_seconds(
      static_cast<uint64_t>((EventLoop::Now() - record.since) / 1000000000));
  for (const JobNode& node : job.nodes) {
    out->add_nodes()->set_name(node.name);
  }
  for (Rank rank = 0; rank < job.procs.size(); ++rank) {
    const ProcPlacement& place = job.procs[rank];
    auto* proc = out->mutable_nodes(static_cast<int>(place.node))->add_procs();
    proc->set_rank(rank);
    proc->set_app(place.app);
    proc->set_cpuset(place.cpuset);
  }
}

}  // namespace

class ControlService::Impl : public v1::Control::CallbackService {
 public:
  Impl(EventLoop* loop, JobController* controller, AgentView view)
      : loop_(loop), controller_(controller), view_(std::move(view)) {}

  grpc::ServerBidiReactor<v1::RunRequest, v1::RunEvent>* Run(
      grpc::CallbackServerContext*) override {
    const uint64_t id = controller_->NewCaller();
    auto* stream = new RunStream(id, loop_, controller_);
    loop_->Post([this, id, stream] {
      controller_->OnCaller(id, stream);
      stream->Begin();
    });
    return stream;
  }

  grpc::ServerUnaryReactor* Status(grpc::CallbackServerContext* context,
                                   const v1::StatusRequest* request,
                                   v1::StatusReply* reply) override {
    return OnLoop(context, [this, request, reply](auto finish) {
      const auto answer = [this, reply, finish](const auto& answers) {
        *reply = view_.status();
        reply->set_jobs(static_cast<uint32_t>(controller_->jobs().size()));
        MarkAway(answers, reply);
        finish(grpc::Status::OK);
      };
      if (!request->ask_all()) return answer(Answers());
      controller_->CollectState("status", "", answer);
    });
  }

  grpc::ServerUnaryReactor* ListJobs(grpc::CallbackServerContext* context,
                                     const v1::ListJobsRequest*,
                                     v1::ListJobsReply* reply) override {
    return OnLoop(context, [this, reply](auto finish) {
      for (const auto& [nspace, record] : controller_->jobs()) {
        FillJob(nspace, record, reply->add_jobs());
      }
      finish(grpc::Status::OK);
    });
  }

  grpc::ServerUnaryReactor* Why(grpc::CallbackServerContext* context,
                                const v1::WhyRequest* request,
                                v1::WhyReply* reply) override {
    return OnLoop(context, [this, request, reply](auto finish) {
      controller_->CollectState("why", request->nspace(),
                                [this, reply, finish](const auto& answers) {
                                  FillWaiting(answers, view_.node_name, reply);
                                  finish(grpc::Status::OK);
                                });
    });
  }

  grpc::ServerUnaryReactor* SignalJob(grpc::CallbackServerContext* context,
                                      const v1::SignalJobRequest* request,
                                      v1::SignalJobReply*) override {
    return OnLoop(context, [this, request](auto finish) {
      if (!controller_->jobs().contains(request->nspace())) {
        return finish(
            {grpc::StatusCode::NOT_FOUND,
             "no job " + request->nspace() + "; 'canopy ps' lists the jobs"});
      }
      controller_->SignalJob(request->nspace(), request->signal());
      finish(grpc::Status::OK);
    });
  }

  grpc::ServerUnaryReactor* Shutdown(grpc::CallbackServerContext* context,
                                     const v1::ShutdownRequest* request,
                                     v1::ShutdownReply*) override {
    return OnLoop(context, [this, request](auto finish) {
      const size_t jobs = controller_->jobs().size();
      if (jobs != 0 && !request->force()) {
        return finish({grpc::StatusCode::FAILED_PRECONDITION,
                       std::to_string(jobs) +
                           " job(s) still run; wait for them or use --force"});
      }
      controller_->KillAll("the overlay is shut down", [this, finish] {
        finish(grpc::Status::OK);
        view_.shut_down();
      });
    });
  }

  grpc::ServerUnaryReactor* Replace(grpc::CallbackServerContext* context,
                                    const v1::ReplaceRequest* request,
                                    v1::ReplaceReply*) override {
    return OnLoop(context, [this, request](auto finish) {
      view_.replace(request->program(), [finish](const canopy::Status& status) {
        finish(status.ok() ? grpc::Status::OK
                           : grpc::Status(grpc::StatusCode::FAILED_PRECONDITION,
                                          status.message()));
      });
    });
  }

 private:
  // Runs `work` on the loop thread with a function that finishes the call.
  template <typename Work>
  grpc::ServerUnaryReactor* OnLoop(grpc::CallbackServerContext* context,
                                   Work work) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    loop_->Post([reactor, work = std::move(work)] {
      work([reactor](const grpc::Status& status) { reactor->Finish(status); });
    });
    return reactor;
  }

  EventLoop* const loop_;
  JobController* const controller_;
  const AgentView view_;
};

ControlService::ControlService(EventLoop* loop, JobController* controller,
                               AgentView view)
    : impl_(std::make_unique<Impl>(loop, controller, std::move(view))) {}

ControlService::~ControlService() = default;

grpc::Service* ControlService::service() { return impl_.get(); }

}  // namespace canopy::control
