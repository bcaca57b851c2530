// The steps of the check that concern the needs of a job, many jobs at the same
// time, and two overlays.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/host_module/placement_check.h"
#include "server/scheduler/contract/times.h"

namespace canopy::cli {
namespace {

namespace v1h = hostmodule::v1;

constexpr int kManyJobs = 200;
constexpr int64_t kHourMs = int64_t{3600} * 1000;
constexpr uint32_t kSettleMs = 100;

void AddHost(const std::string& name, uint32_t slots,
             google::protobuf::RepeatedPtrField<v1h::HostSlots>* hosts) {
  v1h::HostSlots* const host = hosts->Add();
  host->set_name(name);
  if (slots != 0) host->set_slots(slots);
}

}  // namespace

void PlacementCheck::HostsOfApplications() {
  for (const char* const node : kProbeNodes) {
    Request request = Ask(1);
    AddHost(node, 0, request.mutable_applications(0)->mutable_hosts());
    const Call job = Granted(request, std::string("an application on ") + node);
    Release(job->request());
  }
}

void PlacementCheck::Aliases() {
  for (const char* const node : kProbeNodes) {
    const Call job = Granted(Ask(1, AliasOf(node)),
                             "a job on a host that is named by its alias");
    Release(job->request());
  }
}

void PlacementCheck::SlotsOfHosts() {
  Request request = Ask(2);
  for (const char* const node : kProbeNodes) {
    AddHost(node, 1, request.mutable_hosts());
  }
  const Call job = Granted(request, "a job on one slot of each host");
  Release(job->request());
  request = Ask(2);
  AddHost(kProbeNodes[0], 1, request.mutable_hosts());
  const Call never =
      Waiting(request, "a job of 2 slots on a host of which it names 1");
}

void PlacementCheck::RefusedNodes() {
  for (const char* const node : kProbeNodes) {
    Request request = Ask(1);
    request.add_refused_nodes(node);
    const Call job = Granted(request, std::string("a job not on ") + node);
    Release(job->request());
  }
}

void PlacementCheck::ProcessesOnANode() {
  Request request = Ask(2);
  request.mutable_applications(0)->set_max_procs_per_node(1);
  const Call job = Granted(request, "a job of one process on each node");
}

void PlacementCheck::SlotsOfProcesses() {
  Request request = Ask(2);
  request.mutable_applications(0)->set_slots_per_process(2);
  request.set_num_slots(kAllSlots);
  const Call job =
      Granted(request, "a job of two processes that take two slots each");
}

void PlacementCheck::Oversubscribed() {
  Request request = Ask(kAllSlots + 1);
  request.set_oversubscribe(true);
  const Call job = Granted(
      request, "a job of more processes than slots that may share them");
}

void PlacementCheck::EarlierRequest() {
  const Call all = Granted(Ask(kAllSlots), "a job that takes all free nodes");
  const Call later = Waiting(Ask(kAllSlots), "a job while all are taken");
  Request request = Ask(kAllSlots);
  request.set_again(true);
  *request.mutable_request_time() = scheduler::TimestampOf(NowMs() - kHourMs);
  const Call earlier = Waiting(request, "a job while all are taken");
  Release(all->request());
  ExpectGrant(earlier.get(), "the job that was requested an hour earlier");
  ExpectNoGrant(later.get(), "the job that was requested later");
}

// Lets many calls wait at the same time. A scheduler whose threads each wait in
// one call would have no thread left for the release that ends the wait.
void PlacementCheck::ManyWaitingJobs() {
  const Call all = Granted(Ask(kAllSlots), "a job that takes all free nodes");
  if (findings_->failed()) return;
  std::vector<Call> waiting;
  const int64_t now = NowMs();
  for (int i = 0; i < kManyJobs; ++i) {
    Request request = Ask(1);
    *request.mutable_request_time() = scheduler::TimestampOf(now + i);
    waiting.push_back(Start(std::move(request)));
  }
  ExpectNoGrant(waiting.back().get(), "the last of 200 jobs that wait");
  Release(all->request());
  ExpectGrant(waiting.front().get(), "the first of 200 jobs that wait");
  for (const Call& call : waiting) call->Cancel();
}

// Nodes, requests and namespaces have the same names in both overlays.
void PlacementCheck::TwoOverlays() {
  Probe other(*probe_);
  Findings unused;
  Attachment attachment(&other, &unused);
  if (!findings_->Expect(attachment.Attach(kSettleMs),
                         "a second overlay to be attached", "no hello")) {
    return;
  }
  const Call mine = Granted(Ask(kAllSlots), "a job that takes all free nodes");
  Request request = mine->request();
  *request.mutable_overlay() = other.overlay();
  PlacementCall theirs(&other, request);
  (void)theirs.Wait(probe_->timeout_ms());
  findings_->Expect(theirs.granted().has_value(),
                    "a grant to a job of another overlay with equal names",
                    theirs.Outcome());
  v1h::JobReleasedRequest release;
  *release.mutable_overlay() = other.overlay();
  *release.mutable_placement() = request.placement();
  grpc::ClientContext context;
  probe_->SetDeadline(&context);
  v1h::JobReleasedResponse response;
  (void)probe_->stub()->JobReleased(&context, release, &response);
  const Call next =
      Waiting(Ask(1), "a job after a release in the other overlay");
}

}  // namespace canopy::cli
