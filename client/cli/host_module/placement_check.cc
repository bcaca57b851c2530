#include "client/cli/host_module/placement_check.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "client/cli/host_module/status_text.h"
#include "common/status.h"
#include "server/scheduler/contract/times.h"

namespace canopy::cli {
namespace {

namespace v1h = hostmodule::v1;

constexpr char kUnknownDirective[] = "canopy.check.unknown";
constexpr uint32_t kUnknownField = 1000;

std::string SlotsText(uint32_t n) {
  return std::to_string(n) + (n == 1 ? " slot" : " slots");
}

bool IsProbeNode(const std::string& name) {
  return std::ranges::find(kProbeNodes, name) != std::end(kProbeNodes);
}

}  // namespace

void PlacementCheck::Run() {
  struct Step {
    const char* name;
    void (PlacementCheck::*run)();
  };
  constexpr Step kSteps[] = {
      {"a job on free nodes is granted", &PlacementCheck::OneJob},
      {"a job waits while all slots are taken", &PlacementCheck::FullNodes},
      {"a cancelled job leaves the queue", &PlacementCheck::CancelledJob},
      {"a queued job is requested again", &PlacementCheck::AskedAgain},
      {"a granted job gets the same grant again", &PlacementCheck::SameGrant},
      {"a later attempt replaces an earlier one",
       &PlacementCheck::LaterAttempt},
      {"releases of unknown attempts are accepted",
       &PlacementCheck::UnknownRelease},
      {"the job's hosts are kept", &PlacementCheck::NamedHosts},
      {"the hosts of an application are kept",
       &PlacementCheck::HostsOfApplications},
      {"hosts may be named by aliases", &PlacementCheck::Aliases},
      {"the numbers of slots of hosts are kept", &PlacementCheck::SlotsOfHosts},
      {"nodes that a job refuses are not granted",
       &PlacementCheck::RefusedNodes},
      {"the limit of processes on a node is kept",
       &PlacementCheck::ProcessesOnANode},
      {"a process that takes two slots gets them on one node",
       &PlacementCheck::SlotsOfProcesses},
      {"a job of more slots than there are is not granted",
       &PlacementCheck::TooManySlots},
      {"a job that may oversubscribe is granted",
       &PlacementCheck::Oversubscribed},
      {"a job of as many slots as it gets is granted",
       &PlacementCheck::AsManyAsThereAre},
      {"an earlier request comes first", &PlacementCheck::EarlierRequest},
      {"a required directive is honoured or refused",
       &PlacementCheck::RequiredDirective},
      {"drained and lost nodes are not granted",
       &PlacementCheck::NodesThatAreNotUp},
      {"two jobs that wait are granted together", &PlacementCheck::TwoAtOnce},
      {"unknown fields are ignored", &PlacementCheck::UnknownFields},
      {"a snapshot lists the jobs that exist", &PlacementCheck::JobsOfSnapshot},
      {"200 jobs wait, and releases are accepted",
       &PlacementCheck::ManyWaitingJobs},
      {"two overlays with equal names are kept apart",
       &PlacementCheck::TwoOverlays},
  };
  for (const Step& step : kSteps) {
    // After a failure, failures of later steps would mostly be its
    // consequences.
    if (findings_->failed()) return;
    findings_->Begin(step.name);
    (this->*step.run)();
    ReleaseAll();
  }
}

PlacementCheck::Request PlacementCheck::Ask(uint32_t slots,
                                            const std::string& host) {
  Request request;
  *request.mutable_overlay() = probe_->overlay();
  request.mutable_placement()->set_request_id(probe_->NextId("job"));
  request.mutable_placement()->set_attempt(1);
  *request.mutable_caller() = probe_->caller();
  v1h::Application* const app = request.add_applications();
  app->add_argv("/bin/true");
  app->set_slots_per_process(1);
  if (slots != 0) {
    app->set_num_procs(slots);
    request.set_num_slots(slots);
  }
  *request.mutable_request_time() = scheduler::TimestampOf(NowMs());
  if (!host.empty()) request.add_hosts()->set_name(host);
  return request;
}

PlacementCheck::Call PlacementCheck::Start(Request request) {
  requests_[request.placement().request_id()] = request;
  return std::make_unique<PlacementCall>(probe_, std::move(request));
}

// Checks that the grants of the node do not exceed its slots.
void PlacementCheck::CheckSlots(const std::string& node) {
  uint64_t used = 0;
  for (const auto& [id, granted] : held_) {
    for (const v1h::GrantedNode& part : granted.nodes()) {
      if (part.name() == node) used += part.slots();
    }
  }
  findings_->Expect(used <= kSlotsOfNode,
                    "at most " + SlotsText(kSlotsOfNode) + " of node " + node +
                        " granted to jobs that may not share them",
                    std::to_string(used));
}

void PlacementCheck::CheckFits(const PlacementCall& call,
                               const v1h::Granted& granted) {
  const Request& request = call.request();
  const std::string& id = request.placement().request_id();
  for (const auto& [other, theirs] : held_) {
    if (other == id || theirs.host_job_id() != granted.host_job_id()) continue;
    findings_->Fail("got host_job_id '" + granted.host_job_id() +
                    "' for two jobs at once");
  }
  held_[id] = granted;
  uint64_t slots = 0;
  for (const v1h::GrantedNode& part : granted.nodes()) {
    slots += part.slots();
    findings_->Expect(IsProbeNode(part.name()),
                      "grants of the nodes that were reported",
                      "one of '" + part.name() + "'");
    if (!request.oversubscribe()) CheckSlots(part.name());
    CheckNode(request, part);
  }
  const uint32_t wanted = request.oversubscribe() ? 1 : request.num_slots();
  findings_->Expect(slots >= wanted, "a grant of " + SlotsText(wanted),
                    SlotsText(static_cast<uint32_t>(slots)));
}

// Checks one node of a grant. The request has one application.
void PlacementCheck::CheckNode(const Request& request,
                               const v1h::GrantedNode& part) {
  const v1h::Application& app = request.applications(0);
  const auto& hosts = app.hosts().empty() ? request.hosts() : app.hosts();
  const uint32_t per_process = app.slots_per_process();
  const auto host =
      std::ranges::find_if(hosts, [&](const v1h::HostSlots& named) {
        return named.name() == part.name() ||
               named.name() == AliasOf(part.name());
      });
  if (!hosts.empty()) {
    findings_->Expect(
        host != hosts.end(),
        "only host '" + hosts[0].name() + "', which the job names",
        "'" + part.name() + "'");
  }
  if (host != hosts.end() && host->has_slots()) {
    findings_->Expect(part.slots() <= host->slots() * per_process,
                      "at most " + SlotsText(host->slots()) + " of host '" +
                          host->name() + "', as the job requires",
                      std::to_string(part.slots()));
  }
  findings_->Expect(
      std::ranges::count(request.refused_nodes(), part.name()) == 0,
      "a grant without a node that the job refuses", "'" + part.name() + "'");
  if (app.has_max_procs_per_node()) {
    findings_->Expect(part.slots() <= app.max_procs_per_node() * per_process,
                      "at most " + SlotsText(app.max_procs_per_node()) +
                          " on each node, as the job requires",
                      std::to_string(part.slots()));
  }
  findings_->Expect(
      part.slots() % per_process == 0,
      "whole processes of " + SlotsText(per_process) + " on each node",
      std::to_string(part.slots()) + " on one");
}

bool PlacementCheck::ExpectGrant(PlacementCall* call, const std::string& what) {
  (void)call->Wait(probe_->timeout_ms());
  const std::optional<v1h::Granted> granted = call->granted();
  const std::string problem =
      granted ? call->WaitEnd(probe_->timeout_ms()) : std::string();
  if (!findings_->Expect(granted.has_value(), "a grant to " + what,
                         call->Outcome())) {
    return false;
  }
  findings_->Expect(problem.empty(), "a grant, and the end of the stream",
                    problem);
  CheckFits(*call, *granted);
  return true;
}

void PlacementCheck::ExpectNoGrant(PlacementCall* call,
                                   const std::string& what) {
  const bool decided = call->Wait(probe_->quiet_ms());
  findings_->Expect(!decided || call->refused().has_value(),
                    "no grant to " + what + " yet", call->Outcome());
}

PlacementCheck::Call PlacementCheck::Granted(Request request,
                                             const std::string& what) {
  Call call = Start(std::move(request));
  ExpectGrant(call.get(), what);
  return call;
}

PlacementCheck::Call PlacementCheck::Waiting(Request request,
                                             const std::string& what) {
  Call call = Start(std::move(request));
  ExpectNoGrant(call.get(), what);
  return call;
}

void PlacementCheck::Launched(const PlacementCall& call) {
  const v1h::Granted granted = held_[call.request().placement().request_id()];
  v1h::JobLaunchedRequest request;
  *request.mutable_overlay() = probe_->overlay();
  *request.mutable_placement() = call.request().placement();
  request.set_host_job_id(granted.host_job_id());
  request.set_nspace("check");
  for (const v1h::GrantedNode& part : granted.nodes()) {
    v1h::NodeUse* const use = request.add_nodes();
    use->set_name(part.name());
    use->set_procs(part.slots());
    use->set_slots(part.slots());
  }
  grpc::ClientContext context;
  probe_->SetDeadline(&context);
  v1h::JobLaunchedResponse reply;
  const grpc::Status status =
      probe_->stub()->JobLaunched(&context, request, &reply);
  const bool is_left_out =
      status.error_code() == grpc::StatusCode::UNIMPLEMENTED;
  findings_->Expect(status.ok() || is_left_out,
                    "JobLaunched answered or left out",
                    StatusText(EndOf(status)));
}

void PlacementCheck::Release(const Request& job) {
  const auto held = held_.find(job.placement().request_id());
  v1h::JobReleasedRequest request;
  *request.mutable_overlay() = probe_->overlay();
  *request.mutable_placement() = job.placement();
  if (held != held_.end()) {
    request.set_host_job_id(held->second.host_job_id());
    const auto now = requests_.find(job.placement().request_id());
    if (now->second.placement().attempt() == job.placement().attempt()) {
      held_.erase(held);
      requests_.erase(now);
    }
  }
  grpc::ClientContext context;
  probe_->SetDeadline(&context);
  v1h::JobReleasedResponse reply;
  const grpc::Status status =
      probe_->stub()->JobReleased(&context, request, &reply);
  findings_->Expect(status.ok(), "JobReleased answered",
                    StatusText(EndOf(status)));
}

// Releases the job too, as an agent does, because a grant may have been on its
// way.
void PlacementCheck::Withdraw(PlacementCall* call) {
  call->Cancel();
  (void)call->WaitEnd(probe_->timeout_ms());
  Release(call->request());
}

void PlacementCheck::ReleaseAll() {
  const std::map<std::string, Request> left = requests_;
  for (const auto& [id, request] : left) Release(request);
  requests_.clear();
  held_.clear();
}

void PlacementCheck::OneJob() {
  const Call job = Granted(Ask(1), "a job of 1 slot on free nodes");
  if (!findings_->failed()) Launched(*job);
}

void PlacementCheck::FullNodes() {
  const Call all = Granted(Ask(kAllSlots), "a job that takes all free nodes");
  const Call next = Waiting(Ask(1), "a job while all slots are taken");
  Release(all->request());
  ExpectGrant(next.get(), "the job that waits, once there are free slots");
}

void PlacementCheck::CancelledJob() {
  const Call all = Granted(Ask(kAllSlots), "a job that takes all free nodes");
  const Call gone = Waiting(Ask(kAllSlots), "a job while all slots are taken");
  Withdraw(gone.get());
  const Call next = Waiting(Ask(1), "a job while all slots are taken");
  Release(all->request());
  ExpectGrant(next.get(), "a job behind one whose call was cancelled");
}

void PlacementCheck::AskedAgain() {
  const Call all = Granted(Ask(kAllSlots), "a job that takes all free nodes");
  Request request = Ask(1);
  Call job = Waiting(request, "a job while all slots are taken");
  job->Cancel();
  (void)job->WaitEnd(probe_->timeout_ms());
  request.set_again(true);
  job = Waiting(request, "a job while all slots are taken");
  // The scheduler still regards the older call as open.
  const Call newer = Waiting(request, "a job while all slots are taken");
  Release(all->request());
  ExpectGrant(newer.get(), "a queued job that was asked for again");
}

void PlacementCheck::SameGrant() {
  Request request = Ask(1);
  const Call first = Granted(request, "a job of 1 slot on free nodes");
  if (findings_->failed()) return;
  const std::string id = request.placement().request_id();
  const v1h::Granted before = held_[id];
  request.set_again(true);
  const Call again = Granted(request, "a granted job that is asked for again");
  const v1h::Granted now = held_[id];
  bool same = now.host_job_id() == before.host_job_id() &&
              now.nodes_size() == before.nodes_size();
  for (int i = 0; same && i < now.nodes_size(); ++i) {
    same = now.nodes(i).name() == before.nodes(i).name() &&
           now.nodes(i).slots() == before.nodes(i).slots();
  }
  findings_->Expect(same, "the same grant for the same placement",
                    again->Outcome() + " with host_job_id '" +
                        now.host_job_id() + "' after '" + before.host_job_id() +
                        "'");
}

void PlacementCheck::LaterAttempt() {
  Request request = Ask(kAllSlots);
  const Request first = request;
  const Call job = Granted(request, "a job that takes all free nodes");
  request.mutable_placement()->set_attempt(2);
  request.set_again(true);
  const Call again =
      Granted(request, "attempt 2, which ends what attempt 1 was granted");
  Release(first);
  const Call next = Waiting(Ask(1), "a job after a late release of attempt 1");
  Release(request);
  ExpectGrant(next.get(), "the job that waits, once attempt 2 is released");
}

void PlacementCheck::UnknownRelease() {
  Release(Ask(1));
  const Call job = Granted(Ask(1), "a job of 1 slot on free nodes");
  const Request request = job->request();
  Release(request);
  Release(request);
}

void PlacementCheck::NamedHosts() {
  for (const char* const node : kProbeNodes) {
    const Call job = Granted(Ask(1, node), std::string("a job on ") + node);
    Release(job->request());
  }
  const Call nowhere =
      Waiting(Ask(1, "nowhere"), "a job on a node that is not there");
}

void PlacementCheck::TooManySlots() {
  const Call job =
      Waiting(Ask(kAllSlots + 1), "a job of more slots than there are");
}

void PlacementCheck::AsManyAsThereAre() {
  const Call job = Granted(Ask(0), "a job of as many slots as it gets");
}

void PlacementCheck::RequiredDirective() {
  Request request = Ask(1);
  v1h::Info* const info = request.add_directives();
  info->set_key(kUnknownDirective);
  info->mutable_value()->set_flag(true);
  const Call optional =
      Granted(request, "a job with an optional directive that is not known");
  request.mutable_placement()->set_request_id(probe_->NextId("job"));
  request.mutable_directives(0)->set_required(true);
  const Call required = Start(request);
  (void)required->Wait(probe_->timeout_ms());
  const std::optional<Status> refused = required->refused();
  findings_->Expect(
      refused.has_value() && refused->code() == kErrNotSupported,
      "a required directive that is not known refused with UNIMPLEMENTED",
      required->Outcome());
}

void PlacementCheck::NodesThatAreNotUp() {
  const std::pair<v1h::NodeState, std::string> kStates[] = {
      {v1h::NODE_STATE_DRAINED, "drained"},
      {v1h::NODE_STATE_LOST, "lost"},
      {v1h::NODE_STATE_AWAY, "away"}};
  for (const auto& [state, word] : kStates) {
    attachment_->SetState(kProbeNodes[1], state);
    const Call job =
        Waiting(Ask(1, kProbeNodes[1]), "a job on a node that is " + word);
    Withdraw(job.get());
    attachment_->SetState(kProbeNodes[1], v1h::NODE_STATE_UP);
    const Call all = Granted(Ask(kAllSlots), "a job once all nodes are up");
    Release(all->request());
  }
}

void PlacementCheck::TwoAtOnce() {
  const Call all = Granted(Ask(kAllSlots), "a job that takes all free nodes");
  const Call one = Waiting(Ask(2, kProbeNodes[0]), "a job on taken slots");
  const Call other = Waiting(Ask(1, kProbeNodes[1]), "a job on taken slots");
  Release(all->request());
  ExpectGrant(one.get(), "the first of two jobs that wait");
  ExpectGrant(other.get(), "the second of two jobs that wait");
}

void PlacementCheck::UnknownFields() {
  Request request = Ask(1);
  request.GetReflection()->MutableUnknownFields(&request)->AddVarint(
      static_cast<int>(kUnknownField), 1);
  const Call job = Granted(request, "a job with a field of a later version");
}

// The snapshot of a new stream contains only one of two jobs; the other has
// ended.
void PlacementCheck::JobsOfSnapshot() {
  const Call kept = Granted(Ask(2), "a job of 2 slots on free nodes");
  const Call gone = Granted(Ask(2), "a job of 2 slots on free nodes");
  if (findings_->failed()) return;
  v1h::JobReport report;
  const v1h::Granted& granted = held_[kept->request().placement().request_id()];
  *report.mutable_placement() = kept->request().placement();
  report.set_host_job_id(granted.host_job_id());
  report.set_nspace("check");
  report.set_state(v1h::JOB_STATE_RUNNING);
  for (const v1h::GrantedNode& part : granted.nodes()) {
    v1h::NodeUse* const use = report.add_nodes();
    use->set_name(part.name());
    use->set_procs(part.slots());
    use->set_slots(part.slots());
  }
  if (!attachment_->Again({report},
                          static_cast<uint32_t>(probe_->quiet_ms()))) {
    return;
  }
  held_.erase(gone->request().placement().request_id());
  const Call next =
      Granted(Ask(2), "a job, on the slots of one that a snapshot has not");
  const Call other =
      Waiting(Ask(1), "a job, on the slots of one that a snapshot has");
}

}  // namespace canopy::cli
