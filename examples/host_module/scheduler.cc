// A small scheduler for Canopy. Jobs wait in one queue, first come first
// served, for the slots of the nodes that the agents report. It serves any
// number of overlays. docs/write_a_scheduler.md explains it step by step.
//
//   scheduler unix:/tmp/scheduler.sock &
//   canopy up --emulate 4 --host-module unix:/tmp/scheduler.sock
//   canopy run -n 4 hello
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "protos/canopy/hostmodule/v1/error_details.pb.h"
#include "protos/canopy/hostmodule/v1/host_module.grpc.pb.h"

namespace {

namespace v1 = canopy::hostmodule::v1;
using Clock = std::chrono::steady_clock;

constexpr int kTickMs = 100;

// Returns a refusal with the name of the PMIx status that the user gets.
grpc::Status Refusal(const std::string& pmix_status, const std::string& why) {
  v1::ErrorInfo info;
  info.set_reason(pmix_status);
  info.set_domain("pmix.org");
  v1::Status status;
  status.set_code(grpc::StatusCode::FAILED_PRECONDITION);
  status.set_message(why);
  google::protobuf::Any* const detail = status.add_details();
  detail->set_type_url("type.googleapis.com/google.rpc.ErrorInfo");
  detail->set_value(info.SerializeAsString());
  return {grpc::StatusCode::FAILED_PRECONDITION, why,
          status.SerializeAsString()};
}

double SecondsOf(const google::protobuf::Timestamp& time) {
  return static_cast<double>(time.seconds()) + time.nanos() * 1e-9;
}

// A stream to an agent. Messages wait in a queue while one is being sent. The
// caller of each function holds the scheduler's mutex. The object deletes
// itself when the call is done.
template <class Reactor, class Message>
class Stream : public Reactor {
 public:
  // Sends a message. If `last` is true, the stream ends after the message.
  void Send(Message message, bool last = false) {
    out_.push_back(std::move(message));
    ending_ |= last;
    Next();
  }
  void End(const grpc::Status& status) {
    if (!std::exchange(ended_, true)) this->Finish(status);
  }
  // Called by OnWriteDone.
  void Written() {
    out_.pop_front();
    writing_ = false;
    Next();
  }

 private:
  void Next() {
    if (writing_ || ended_) return;
    if (!out_.empty()) {
      writing_ = true;
      this->StartWrite(&out_.front());
    } else if (ending_) {
      End(grpc::Status::OK);
    }
  }
  void OnDone() override { delete this; }

  std::deque<Message> out_;
  bool writing_ = false;
  bool ending_ = false;
  bool ended_ = false;
};

class Scheduler;

// A call of PlaceJob.
class Placing : public Stream<grpc::ServerWriteReactor<v1::PlaceJobResponse>,
                              v1::PlaceJobResponse> {
 public:
  explicit Placing(Scheduler* scheduler) : scheduler_(scheduler) {}
  void OnWriteDone(bool ok) override;
  void OnCancel() override;

 private:
  Scheduler* const scheduler_;
};

// A call of Attach.
class Attached
    : public Stream<
          grpc::ServerBidiReactor<v1::AttachRequest, v1::AttachResponse>,
          v1::AttachResponse> {
 public:
  explicit Attached(Scheduler* scheduler) : scheduler_(scheduler) {
    StartRead(&message_);
  }
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;

  std::string overlay_id;  // empty before the hello

 private:
  Scheduler* const scheduler_;
  v1::AttachRequest message_;
};

struct Node {
  std::vector<std::string> aliases;
  uint32_t slots = 0;
  uint32_t used = 0;
  bool up = false;
};

struct Job {
  v1::PlaceJobRequest request;
  std::string reason;       // why the job waits, as last reported
  Placing* call = nullptr;  // the open call, or null
  std::optional<v1::Granted> granted;
  // The time at which the job's slots are free again, unless the job is
  // requested before.
  std::optional<Clock::time_point> doubtful;
};

struct Overlay {
  std::map<std::string, Node> nodes;
  std::map<std::string, Job> jobs;  // by request_id
  Attached* stream = nullptr;
  uint64_t incarnation = 0;   // of the agent that reports
  uint64_t acknowledged = 0;  // the last report that was accepted
  bool first_page = true;     // the next page begins a snapshot
};

class Scheduler final : public v1::HostModuleService::CallbackService {
 public:
  grpc::ServerUnaryReactor* GetCapabilities(
      grpc::CallbackServerContext* context, const v1::GetCapabilitiesRequest*,
      v1::GetCapabilitiesResponse* reply) override {
    reply->set_name("first come first served");
    reply->set_version("1");
    for (const v1::Feature feature : {v1::FEATURE_PLACE_JOB, v1::FEATURE_ATTACH,
                                      v1::FEATURE_LOG, v1::FEATURE_QUERY}) {
      reply->add_features(feature);
    }
    return Answered(context);
  }

  grpc::ServerWriteReactor<v1::PlaceJobResponse>* PlaceJob(
      grpc::CallbackServerContext*,
      const v1::PlaceJobRequest* request) override {
    const std::lock_guard lock(mutex_);
    auto* const call = new Placing(this);
    Overlay& overlay = overlays_[request->overlay().overlay_id()];
    const v1::Placement& placement = request->placement();
    Job& job = overlay.jobs[placement.request_id()];
    if (placement.attempt() < job.request.placement().attempt()) {
      call->End({grpc::StatusCode::ABORTED, "there was a later attempt"});
      return call;
    }
    if (placement.attempt() > job.request.placement().attempt()) {
      Release(&overlay, &job);
    }
    if (job.call != nullptr) {
      job.call->End({grpc::StatusCode::ABORTED, "it was asked for again"});
    }
    job.request = *request;
    job.call = call;
    job.doubtful.reset();
    // A repeated request gets the same answer.
    if (job.granted) Grant(&job, *job.granted);
    Schedule(&overlay);
    return call;
  }

  grpc::ServerUnaryReactor* JobLaunched(grpc::CallbackServerContext* context,
                                        const v1::JobLaunchedRequest* request,
                                        v1::JobLaunchedResponse*) override {
    std::printf("job %s runs as %s\n", request->host_job_id().c_str(),
                request->nspace().c_str());
    return Answered(context);
  }

  grpc::ServerUnaryReactor* JobReleased(grpc::CallbackServerContext* context,
                                        const v1::JobReleasedRequest* request,
                                        v1::JobReleasedResponse*) override {
    const std::lock_guard lock(mutex_);
    Overlay& overlay = overlays_[request->overlay().overlay_id()];
    const auto job = overlay.jobs.find(request->placement().request_id());
    // The release of an earlier attempt is ignored, because the later attempt
    // has the slots.
    if (job != overlay.jobs.end() &&
        job->second.request.placement().attempt() ==
            request->placement().attempt()) {
      Drop(&overlay, job);
      Schedule(&overlay);
    }
    return Answered(context);
  }

  grpc::ServerBidiReactor<v1::AttachRequest, v1::AttachResponse>* Attach(
      grpc::CallbackServerContext*) override {
    return new Attached(this);
  }

  // Log entries go to the output of this program.
  grpc::ServerUnaryReactor* Log(grpc::CallbackServerContext* context,
                                const v1::LogRequest* request,
                                v1::LogResponse*) override {
    for (const v1::Info& directive : request->directives()) {
      if (directive.required()) return Unsupported(context, directive.key());
    }
    for (const v1::Info& info : request->data()) {
      std::printf("log of user %u: %s %s\n",
                  request->call().caller().user().uid(), info.key().c_str(),
                  info.value().text().c_str());
    }
    return Answered(context);
  }

  // Answers queries about the only queue.
  grpc::ServerUnaryReactor* Query(grpc::CallbackServerContext* context,
                                  const v1::QueryRequest* request,
                                  v1::QueryResponse* reply) override {
    const std::lock_guard lock(mutex_);
    for (const v1::Info& qualifier : request->qualifiers()) {
      if (qualifier.required()) return Unsupported(context, qualifier.key());
    }
    const auto answer = [reply](const std::string& key, std::string text) {
      v1::Info* const info = reply->add_results();
      info->set_key(key);
      info->mutable_value()->set_text(std::move(text));
    };
    const Overlay& overlay = overlays_[request->call().overlay().overlay_id()];
    const auto waiting = std::ranges::count_if(
        overlay.jobs, [](const auto& job) { return !job.second.granted; });
    for (const std::string& key : request->keys()) {
      if (key == "pmix.qry.qlst") answer(key, "all");  // PMIX_QUERY_QUEUE_LIST
      if (key == "pmix.qry.qst") {  // PMIX_QUERY_QUEUE_STATUS
        answer(key, std::to_string(waiting) + " waiting");
      }
    }
    return Answered(context);
  }

  // Handlers of the streams' messages.
  void Taken(Attached* stream, const v1::AttachRequest& message) {
    if (message.has_hello()) Hello(stream, message.hello());
    Overlay& overlay = overlays_[stream->overlay_id];
    if (overlay.stream != stream) return;
    if (message.has_snapshot()) Take(message.snapshot(), &overlay);
    if (message.has_report()) Take(message.report(), &overlay);
    Schedule(&overlay);
  }
  void Gone(const Attached* stream) {
    Overlay& overlay = overlays_[stream->overlay_id];
    if (overlay.stream == stream) overlay.stream = nullptr;
  }
  // Called when a call has ended because the job is no longer wanted or the
  // connection is lost. Removes a waiting job. If the agent requests it again,
  // its place in the queue is the same, because the request has the same time.
  // A grant stays valid until it is released.
  void Gone(const Placing* call) {
    for (auto& [id, overlay] : overlays_) {
      for (auto job = overlay.jobs.begin(); job != overlay.jobs.end(); ++job) {
        if (job->second.call != call) continue;
        job->second.call = nullptr;
        if (!job->second.granted) Drop(&overlay, job);
        Schedule(&overlay);
        return;
      }
    }
  }
  void Tick() {
    const std::lock_guard lock(mutex_);
    for (auto& [id, overlay] : overlays_) {
      for (auto job = overlay.jobs.begin(); job != overlay.jobs.end();) {
        const auto next = std::next(job);
        if (job->second.doubtful && Clock::now() >= *job->second.doubtful) {
          Drop(&overlay, job);
        }
        job = next;
      }
      Schedule(&overlay);
    }
  }
  std::mutex* mutex() { return &mutex_; }

 private:
  static grpc::ServerUnaryReactor* Answered(grpc::CallbackServerContext* c) {
    grpc::ServerUnaryReactor* const reactor = c->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  static grpc::ServerUnaryReactor* Unsupported(grpc::CallbackServerContext* c,
                                               const std::string& key) {
    grpc::ServerUnaryReactor* const reactor = c->DefaultReactor();
    reactor->Finish(
        {grpc::StatusCode::UNIMPLEMENTED, key + " is not supported"});
    return reactor;
  }

  void Hello(Attached* stream, const v1::AgentHello& hello) {
    stream->overlay_id = hello.overlay().overlay_id();
    Overlay& overlay = overlays_[stream->overlay_id];
    if (overlay.stream != nullptr && overlay.stream != stream) {
      overlay.stream->End({grpc::StatusCode::ABORTED, "there is a newer one"});
    }
    overlay.stream = stream;
    overlay.first_page = true;
    if (overlay.incarnation != hello.incarnation()) overlay.acknowledged = 0;
    overlay.incarnation = hello.incarnation();
    v1::AttachResponse answer;
    answer.mutable_hello()->set_incarnation(overlay.incarnation);
    answer.mutable_hello()->set_acknowledged(overlay.acknowledged);
    stream->Send(std::move(answer));
  }

  // Takes over a page of the reported state: nodes, and jobs that use some of
  // their slots. Granted jobs that are on no page may still be requested again.
  void Take(const v1::SnapshotPage& page, Overlay* overlay) {
    if (std::exchange(overlay->first_page, page.last())) {
      Doubt(std::chrono::seconds(page.settle_time().seconds()) +
                std::chrono::nanoseconds(page.settle_time().nanos()),
            overlay);
    }
    for (const v1::NodeReport& node : page.nodes()) Take(node, overlay);
    for (const v1::JobReport& report : page.jobs()) {
      if (report.nodes().empty()) continue;
      Job& job = overlay->jobs[report.placement().request_id()];
      job.doubtful.reset();
      if (job.granted) continue;
      // The job was granted before this program was started.
      *job.request.mutable_placement() = report.placement();
      job.granted.emplace();
      job.granted->set_host_job_id(report.host_job_id());
      for (const v1::NodeUse& use : report.nodes()) {
        v1::GrantedNode* const node = job.granted->add_nodes();
        node->set_name(use.name());
        node->set_slots(use.slots());
        overlay->nodes[use.name()].used += use.slots();
      }
    }
  }
  // Marks all nodes and granted jobs. Those that the following pages do not
  // name are dropped when `settle_time` is over.
  static void Doubt(Clock::duration settle_time, Overlay* overlay) {
    for (auto& [name, node] : overlay->nodes) node.up = false;
    for (auto& [id, job] : overlay->jobs) {
      if (job.granted) job.doubtful = Clock::now() + settle_time;
    }
  }
  void Take(const v1::Report& report, Overlay* overlay) {
    if (report.sequence() > overlay->acknowledged) {
      overlay->acknowledged = report.sequence();
      if (report.has_node()) Take(report.node(), overlay);
      if (report.has_record()) Account(report.record());
    }
    v1::AttachResponse answer;
    answer.mutable_acknowledge()->set_sequence(overlay->acknowledged);
    overlay->stream->Send(std::move(answer));
  }
  static void Take(const v1::NodeReport& report, Overlay* overlay) {
    Node& node = overlay->nodes[report.name()];
    node.aliases = {report.aliases().begin(), report.aliases().end()};
    node.slots = report.slots();
    node.up = report.state() == v1::NODE_STATE_UP;
  }
  static void Account(const v1::JobRecord& record) {
    const double seconds =
        SecondsOf(record.end_time()) - SecondsOf(record.request_time());
    const double cpu = static_cast<double>(record.cpu_time().seconds()) +
                       record.cpu_time().nanos() * 1e-9;
    std::printf(
        "job %s of user %u ended with exit code %d after %.3f s, %.3f s of CPU "
        "time of %u of %u processes and at most %llu KiB: %s\n",
        record.host_job_id().c_str(), record.caller().user().uid(),
        record.exit_code(), seconds, cpu, record.procs_measured(),
        record.num_procs(),
        static_cast<unsigned long long>(record.peak_memory_bytes() >> 10),
        record.command().c_str());
  }

  // Frees the job's slots.
  static void Release(Overlay* overlay, Job* job) {
    if (!job->granted) return;
    for (const v1::GrantedNode& node : job->granted->nodes()) {
      overlay->nodes[node.name()].used -= node.slots();
    }
    job->granted.reset();
  }
  static void Drop(Overlay* overlay, std::map<std::string, Job>::iterator job) {
    Release(overlay, &job->second);
    if (job->second.call != nullptr) {
      job->second.call->End({grpc::StatusCode::ABORTED, "it was released"});
    }
    overlay->jobs.erase(job);
  }

  static void Grant(Job* job, const v1::Granted& granted) {
    v1::PlaceJobResponse update;
    *update.mutable_granted() = granted;
    std::exchange(job->call, nullptr)->Send(std::move(update), true);
  }
  static void Refuse(Job* job, const std::string& pmix_status,
                     const std::string& why) {
    std::exchange(job->call, nullptr)->End(Refusal(pmix_status, why));
  }

  // Grants waiting jobs in the order of their requests, until the first one has
  // to wait.
  void Schedule(Overlay* overlay) {
    for (Job* job = First(overlay); job != nullptr; job = First(overlay)) {
      const std::string id = job->request.placement().request_id();
      if (!Decide(overlay, job)) break;
      if (!job->granted) overlay->jobs.erase(id);
    }
  }
  static Job* First(Overlay* overlay) {
    Job* first = nullptr;
    for (auto& [id, job] : overlay->jobs) {
      if (job.call == nullptr || job.granted) continue;
      if (!first || SecondsOf(job.request.request_time()) <
                        SecondsOf(first->request.request_time())) {
        first = &job;
      }
    }
    return first;
  }

  // Returns false if the job has to wait.
  bool Decide(Overlay* overlay, Job* job) {
    for (const v1::Info& info : job->request.directives()) {
      if (!info.required()) continue;
      Refuse(job, "PMIX_ERR_NOT_SUPPORTED", info.key() + " is not supported");
      return true;
    }
    uint32_t all = 0;
    uint32_t free = 0;
    for (const auto& [name, node] : overlay->nodes) {
      all += node.up ? Usable(job->request, name, node) : 0;
      free += FreeFor(job->request, name, node);
    }
    // A job without a number of slots gets all that are free, at least one. If
    // there are more processes than slots, they share the slots, if that is
    // allowed.
    uint32_t wanted = std::max(job->request.num_slots(), 1u);
    if (job->request.oversubscribe())
      wanted = std::min(wanted, std::max(all, 1u));
    if (wanted > all && overlay->stream != nullptr) {
      Refuse(job, "PMIX_ERR_JOB_INSUFFICIENT_RESOURCES",
             Text(wanted, "wanted and there are", all));
      return true;
    }
    if (wanted > free)
      return Wait(job, Text(wanted, "wanted,", free) + " free");
    Take(overlay, job, job->request.num_slots() == 0 ? free : wanted);
    return true;
  }
  static std::string Text(uint32_t a, const char* between, uint32_t b) {
    return std::to_string(a) + " slots " + between + " " + std::to_string(b);
  }
  static bool Wait(Job* job, const std::string& reason) {
    if (job->reason == reason) return false;
    job->reason = reason;
    v1::PlaceJobResponse update;
    update.mutable_queued()->set_reason(reason);
    job->call->Send(std::move(update));
    return false;
  }
  void Take(Overlay* overlay, Job* job, uint32_t wanted) {
    v1::Granted granted;
    granted.set_host_job_id(run_ + "." + std::to_string(++last_job_));
    if (job->request.has_time_limit()) {
      *granted.mutable_time_limit() = job->request.time_limit();
    }
    for (auto& [name, node] : overlay->nodes) {
      const uint32_t n = std::min(wanted, FreeFor(job->request, name, node));
      if (n == 0) continue;
      v1::GrantedNode* const part = granted.add_nodes();
      part->set_name(name);
      part->set_slots(n);
      node.used += n;
      wanted -= n;
    }
    job->granted = granted;
    Grant(job, granted);
  }

  static uint32_t FreeFor(const v1::PlaceJobRequest& request,
                          const std::string& name, const Node& node) {
    if (!node.up || node.used >= node.slots) return 0;
    return std::min(Usable(request, name, node), node.slots - node.used);
  }
  // Returns the number of slots of a node that the job may use, according to
  // its requirements. If the job has several applications, the hosts of all
  // applications count.
  static uint32_t Usable(const v1::PlaceJobRequest& request,
                         const std::string& name, const Node& node) {
    if (std::ranges::count(request.refused_nodes(), name) > 0) return 0;
    uint64_t usable = 0;
    for (const v1::Application& app : request.applications()) {
      const auto& hosts = app.hosts().empty() ? request.hosts() : app.hosts();
      uint64_t procs = HostSlots(hosts, name, node);
      if (app.has_max_procs_per_node()) {
        procs = std::min<uint64_t>(procs, app.max_procs_per_node());
      }
      usable += procs * std::max(app.slots_per_process(), 1u);
    }
    return static_cast<uint32_t>(std::min<uint64_t>(usable, node.slots));
  }
  template <typename Hosts>
  static uint64_t HostSlots(const Hosts& hosts, const std::string& name,
                            const Node& node) {
    if (hosts.empty()) return node.slots;
    uint64_t slots = 0;
    for (const v1::HostSlots& host : hosts) {
      if (host.name().starts_with('+')) return node.slots;
      if (host.name() != name &&
          std::ranges::count(node.aliases, host.name()) == 0) {
        continue;
      }
      slots += host.has_slots() ? host.slots() : node.slots;
    }
    return slots;
  }

  std::mutex mutex_;  // guards everything
  std::map<std::string, Overlay> overlays_;
  // Makes the names of jobs unique over restarts of this program.
  const std::string run_ =
      std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(
                         std::chrono::system_clock::now().time_since_epoch())
                         .count());
  uint64_t last_job_ = 0;
};

void Placing::OnWriteDone(bool ok) {
  const std::lock_guard lock(*scheduler_->mutex());
  if (ok) Written();
}
void Placing::OnCancel() {
  const std::lock_guard lock(*scheduler_->mutex());
  scheduler_->Gone(this);
  End(grpc::Status::CANCELLED);
}
void Attached::OnReadDone(bool ok) {
  const std::lock_guard lock(*scheduler_->mutex());
  if (!ok) {
    scheduler_->Gone(this);
    return End(grpc::Status::OK);
  }
  scheduler_->Taken(this, message_);
  StartRead(&message_);
}
void Attached::OnWriteDone(bool ok) {
  const std::lock_guard lock(*scheduler_->mutex());
  if (ok) Written();
}
void Attached::OnCancel() {
  const std::lock_guard lock(*scheduler_->mutex());
  scheduler_->Gone(this);
  End(grpc::Status::CANCELLED);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: scheduler ADDRESS (unix:PATH or HOST:PORT)\n");
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends,
                  nullptr);  // blocked in all threads; sigwait below
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  Scheduler scheduler;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(argv[1], grpc::InsecureServerCredentials());
  builder.RegisterService(&scheduler);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  std::printf("schedules at %s\n", argv[1]);
  const timespec tick = {0, kTickMs * 1000 * 1000};
  while (sigtimedwait(&ends, nullptr, &tick) < 0) scheduler.Tick();
  server->Shutdown(std::chrono::system_clock::now());
  return 0;
}
