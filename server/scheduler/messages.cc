#include "server/scheduler/messages.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "common/codec/decoder.h"
#include "common/text.h"
#include "common/values/info_list.h"
#include "server/scheduler/infos.h"
#include "server/scheduler/line.h"

namespace canopy::scheduler {
namespace {

namespace v1 = hostmodule::v1;

constexpr size_t kMaxHostJob = 255;
constexpr size_t kMaxRequest = 255;
// Attributes of a spawn that are passed to the scheduler: PMIX_ALLOC_*.
constexpr char kAllocation[] = "pmix.alloc.";
constexpr size_t kMaxCommand = 4096;
constexpr uint32_t kMaxSlots = 1 << 20;
constexpr size_t kMaxInfos = 512;

template <typename Hosts>
void PutHosts(const std::vector<Host>& hosts, Hosts* out) {
  for (const Host& host : hosts) {
    v1::HostSlots* const to = out->Add();
    to->set_name(Printable(host.name));
    to->set_slots(host.slots_given ? host.slots : 0);
  }
}

template <typename Nodes>
void PutNodes(const std::vector<NodeUse>& nodes, Nodes* out) {
  for (const NodeUse& node : nodes) {
    v1::NodeUse* const to = out->Add();
    to->set_name(Printable(node.name));
    to->set_procs(node.procs);
  }
}

bool IsText(const std::string& text) {
  return text.find('\0') == std::string::npos;
}

std::string PathIn(const std::string& directory, const std::string& path) {
  return path.empty() || path.starts_with('/') ? path : directory + "/" + path;
}

bool IsVariable(const std::string& entry) {
  const size_t equals = entry.find('=');
  return equals != 0 && equals != std::string::npos && IsText(entry);
}

// Adds the directives of the job, which come first in a spawn call.
void PutDirectives(const Bytes& call, v1::PlaceJobRequest* out) {
  if (call.empty()) return;
  Decoder in(call.view());
  size_t count = 0;
  if (!in.GetSize(&count) || count > kMaxInfos) return;
  for (size_t i = 0; i < count; ++i) {
    pmix_info_t info = {};
    if (!in.GetInfo(&info)) return;
    InfoList owner;
    owner.Adopt(&info);
    if (KeyOf(owner[0]).starts_with(kAllocation)) {
      PutInfo(owner[0], out->add_directives());
    }
  }
}

}  // namespace

void PutPlacement(const PlacementId& id, v1::Placement* out) {
  out->set_request_id(Printable(id.request));
  out->set_attempt(id.attempt);
}

void PutCaller(const PlacementCaller& caller, v1::Caller* out) {
  out->set_uid(caller.uid);
  out->set_gid(caller.gid);
  out->set_host_job_id(caller.host_job);
  if (!caller.process) return;
  out->mutable_process()->set_nspace(Printable(caller.process->nspace));
  out->mutable_process()->set_rank(caller.process->rank);
}

v1::PlaceJobRequest ToMessage(const PlacementRequest& request, int64_t now,
                              int64_t now_ms) {
  v1::PlaceJobRequest out;
  PutPlacement(request.id, out.mutable_placement());
  PutCaller(request.caller, out.mutable_caller());
  for (const JobApp& app : request.job.apps) {
    v1::App* const to = out.add_apps();
    for (const std::string& arg : app.argv) to->add_argv(arg);
    to->set_num_procs(app.num_procs);
    PutHosts(app.hosts, to->mutable_hosts());
  }
  const JobPlaces& places = request.job.places;
  PutHosts(places.hosts, out.mutable_hosts());
  out.set_num_slots(request.num_slots);
  out.set_oversubscribe(places.oversubscribe);
  out.set_map_by(Printable(places.map_by));
  out.set_time_limit_seconds(request.job.timeout_seconds);
  if (request.give_up != 0) {
    out.set_give_up_ms(now_ms + (request.give_up - now) / 1000000);
  }
  out.set_since_ms(request.since_ms);
  PutDirectives(request.directives, &out);
  out.set_parent(Printable(request.parent));
  out.set_again(request.again);
  return out;
}

Result<PlacementGrant> FromMessage(const v1::Granted& granted) {
  const auto malformed = [](const std::string& what) {
    return Status(kErrUnpackFailure, "a grant " + what);
  };
  PlacementGrant out;
  out.host_job = granted.host_job_id();
  out.time_limit_seconds = granted.time_limit_seconds();
  if (out.host_job.size() > kMaxHostJob) return malformed("with a long name");
  if (granted.nodes_size() == 0) return malformed("without nodes");
  std::set<std::string> names;
  for (const v1::GrantedNode& node : granted.nodes()) {
    if (node.slots() == 0 || node.slots() > kMaxSlots) {
      return malformed("of " + std::to_string(node.slots()) + " slots on " +
                       LineOf(node.name()));
    }
    if (!names.insert(node.name()).second) {
      return malformed("of node " + LineOf(node.name()) + " twice");
    }
    out.nodes.push_back({node.name(), node.slots()});
  }
  for (const std::string& entry : granted.env()) {
    if (!IsVariable(entry)) {
      return malformed("with a variable that is not NAME=VALUE");
    }
    out.env.push_back(entry);
  }
  return out;
}

Result<HostLaunch> FromMessage(const v1::LaunchJob& launch) {
  const auto malformed = [](const std::string& what) {
    return Status(kErrBadParam, "a launch " + what);
  };
  HostLaunch out;
  out.id.request = launch.request_id();
  if (out.id.request.empty() || out.id.request.size() > kMaxRequest ||
      Printable(out.id.request) != out.id.request) {
    return malformed("without a name of 1 to 255 printable bytes");
  }
  Result<PlacementGrant> grant = FromMessage(launch.granted());
  if (!grant.ok()) return grant.status();
  out.grant = *std::move(grant);
  for (const v1::LaunchApp& app : launch.apps()) {
    JobApp& to = out.job.apps.emplace_back();
    to.argv = {app.argv().begin(), app.argv().end()};
    to.num_procs = app.num_procs();
    if (!std::ranges::all_of(app.argv(), IsText)) {
      return malformed("with a NUL byte");
    }
    if (app.argv_size() == 0 || app.argv(0).empty()) {
      return malformed("without a program");
    }
  }
  if (out.job.apps.empty()) return malformed("without a program");
  out.job.env = {launch.env().begin(), launch.env().end()};
  if (!std::ranges::all_of(out.job.env, IsVariable) || !IsText(launch.cwd())) {
    return malformed(
        "with a NUL byte in its directory or environment, or a variable "
        "that is not NAME=VALUE");
  }
  if (!IsText(launch.output()) || !IsText(launch.error())) {
    return malformed("with a NUL byte in the name of a file");
  }
  const std::string& cwd = launch.cwd();
  out.job.cwd = cwd.empty() ? "/" : cwd;
  out.job.places.map_by = launch.map_by();
  out.job.stdin_target = StdinTarget::kNone;
  out.job.forwarding.channels = kAllOutput;
  out.output = {PathIn(cwd, launch.output()), PathIn(cwd, launch.error()),
                launch.append()};
  return out;
}

Status FromMessage(const v1::Refused& refused) {
  const int status =
      refused.status() < 0 ? refused.status() : int{kErrJobAllocFailed};
  const std::string why = LineOf(refused.message());
  return {status, why.empty() ? "the scheduler has refused the job" : why};
}

v1::JobReport ReportOf(const PlacedJob& job, v1::JobState state,
                       uint32_t procs_ended) {
  v1::JobReport out;
  PutPlacement(job.id, out.mutable_placement());
  out.set_host_job_id(job.host_job);
  out.set_nspace(Printable(job.nspace));
  out.set_state(state);
  out.set_num_procs(job.num_procs);
  out.set_procs_ended(procs_ended);
  PutNodes(job.nodes, out.mutable_nodes());
  return out;
}

v1::JobState StateOf(core::JobPhase phase) {
  switch (phase) {
    case core::JobPhase::kPreparing:
      return v1::JOB_STATE_PREPARING;
    case core::JobPhase::kStarting:
      return v1::JOB_STATE_STARTING;
    case core::JobPhase::kRunning:
      return v1::JOB_STATE_RUNNING;
    case core::JobPhase::kEnding:
      return v1::JOB_STATE_ENDING;
    case core::JobPhase::kEnded:
      return v1::JOB_STATE_ENDED;
  }
  return v1::JOB_STATE_UNSPECIFIED;
}

v1::JobRecord RecordOf(const PlacedJob& job, const PlacedEnd& end) {
  v1::JobRecord out;
  PutPlacement(job.id, out.mutable_placement());
  out.set_host_job_id(job.host_job);
  out.set_nspace(Printable(job.nspace));
  PutCaller(job.caller, out.mutable_caller());
  out.set_parent(Printable(job.parent));
  out.set_command(Printable(job.command.substr(0, kMaxCommand)));
  PutNodes(job.nodes, out.mutable_nodes());
  out.set_num_procs(job.num_procs);
  out.set_queued_ms(job.queued_ms);
  out.set_started_ms(job.started_ms);
  out.set_ended_ms(end.ended_ms);
  out.set_exit_code(end.exit_code);
  out.set_status(end.status);
  out.set_message(Printable(end.text));
  out.set_procs_measured(end.used.ranks);
  if (end.used.ranks == 0) return out;
  out.set_cpu_time_ms(end.used.sum.cpu_us / 1000);
  out.set_peak_memory_bytes(end.used.sum.peak_bytes);
  return out;
}

}  // namespace canopy::scheduler
