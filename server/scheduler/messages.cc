#include "server/scheduler/messages.h"

#include <time.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "common/codec/decoder.h"
#include "common/cpuset.h"
#include "common/text.h"
#include "common/values/info_list.h"
#include "server/scheduler/contract/line.h"
#include "server/scheduler/contract/times.h"
#include "server/scheduler/infos.h"
#include "server/scheduler/mapping.h"

namespace canopy::scheduler {
namespace {

namespace v1 = hostmodule::v1;

constexpr size_t kMaxHostJob = 255;
constexpr size_t kMaxRequest = 255;
// The prefix of those attributes of a spawn that are passed to the scheduler:
// PMIX_ALLOC_*.
constexpr char kAllocation[] = "pmix.alloc.";
constexpr size_t kMaxCommand = 4096;
constexpr size_t kMaxInfos = 512;
// The limits of the scheduler's lists.
constexpr uint32_t kMaxSlots = 4096;
constexpr int kMaxNodes = 65'536;
constexpr int kMaxVariables = 4096;
constexpr size_t kMaxEnvironment = 1 << 20;
constexpr int kMaxApplications = 1024;
constexpr int kMaxGpus = 1024;
constexpr size_t kMaxHint = 255;
constexpr size_t kMaxHints = 64;
constexpr size_t kMaxHintBytes = 4096;
constexpr int kMaxArguments = 65'536;
// The limit of the arguments in a request, in bytes.
constexpr size_t kMaxArgvSent = 64 << 10;

template <typename Hosts>
void PutHosts(const std::vector<Host>& hosts, Hosts* out) {
  for (const Host& host : hosts) {
    v1::HostSlots* const to = out->Add();
    to->set_name(Printable(host.name));
    if (host.slots_given) to->set_slots(host.slots);
  }
}

template <typename Nodes>
void PutNodes(const std::vector<NodeUse>& nodes, Nodes* out) {
  for (const NodeUse& node : nodes) {
    v1::NodeUse* const to = out->Add();
    to->set_name(Printable(node.name));
    to->set_procs(node.procs);
    to->set_slots(node.slots);
    to->set_cpus(node.cpus.ToString());
    *to->mutable_gpus() = {node.gpus.begin(), node.gpus.end()};
  }
}

// Appends arguments until `room` bytes are used.
void PutArgv(const std::vector<std::string>& argv, size_t* room,
             v1::Application* out) {
  for (const std::string& arg : argv) {
    if (arg.size() >= *room) {
      *room = 0;
      return out->set_argv_cut(true);
    }
    *room -= arg.size() + 1;
    out->add_argv(arg);
  }
}

void PutApplications(const PlacementRequest& request, const MappingNeeds& needs,
                     v1::PlaceJobRequest* out) {
  size_t room = kMaxArgvSent;
  uint64_t slots = 0;
  for (const JobApp& app : request.job.apps) {
    v1::Application* const to = out->add_applications();
    PutArgv(app.argv, &room, to);
    if (app.num_procs != 0) to->set_num_procs(app.num_procs);
    PutHosts(app.hosts, to->mutable_hosts());
    to->set_slots_per_process(needs.slots_per_process);
    to->set_cpus_per_process(needs.cpus_per_process);
    if (needs.max_procs_per_node) {
      to->set_max_procs_per_node(*needs.max_procs_per_node);
    }
    to->set_gpus_per_process(request.job.places.gpus_per_proc);
    to->set_memory_bytes_per_process(request.job.places.memory_per_proc);
    slots += uint64_t{app.num_procs} * needs.slots_per_process;
  }
  if (request.num_slots == 0) return;  // the host decides the number
  out->set_num_slots(
      static_cast<uint32_t>(std::min<uint64_t>(slots, UINT32_MAX)));
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

// Returns the reason why a list of variables is invalid, or an empty string.
template <typename Entries>
std::string ProblemOfEnvironment(const Entries& env) {
  if (env.size() > kMaxVariables) {
    return "with " + std::to_string(env.size()) + " variables, and " +
           std::to_string(kMaxVariables) + " are possible";
  }
  size_t size = 0;
  for (const std::string& entry : env) {
    if (!IsVariable(entry)) return "with a variable that is not NAME=VALUE";
    size += entry.size();
  }
  return size > kMaxEnvironment ? "with more than 1 MiB of variables" : "";
}

// Returns text for people: the local time at which a job is expected to start.
std::string ExpectedAt(int64_t ms) {
  const time_t seconds = ms / 1000;
  tm local;
  char text[48];
  if (localtime_r(&seconds, &local) == nullptr ||
      strftime(text, sizeof text, " (starts at about %H:%M)", &local) == 0) {
    return "";
  }
  return text;
}

// Converts a node of a grant. The error, if the node is invalid, continues the
// words "a grant".
Result<GrantedNode> FromMessage(const v1::GrantedNode& node) {
  const auto malformed = [&](const std::string& what) {
    return Status(kErrUnpackFailure, what + " on " + LineOf(node.name()));
  };
  if (node.slots() == 0 || node.slots() > kMaxSlots) {
    return malformed("of " + std::to_string(node.slots()) +
                     " slots, where 1 to " + std::to_string(kMaxSlots) +
                     " are possible,");
  }
  Result<CpuSet> cpus = CpuSet::Parse(node.cpus());
  if (!cpus.ok()) return malformed("of CPUs that are no list of numbers");
  if (node.gpus_size() > kMaxGpus) return malformed("of too many GPUs");
  const std::string problem = ProblemOfEnvironment(node.env());
  if (!problem.empty()) return malformed(problem);
  return GrantedNode{node.name(),
                     node.slots(),
                     *std::move(cpus),
                     {node.gpus().begin(), node.gpus().end()},
                     {node.env().begin(), node.env().end()}};
}

// Converts the hints. Each further hint is NAME=VALUE.
void PutHints(const std::string& name, const SchedulerHints& hints,
              v1::Hints* out) {
  out->set_name(Printable(name));
  out->set_queue(Printable(hints.queue));
  out->set_account(Printable(hints.account));
  if (hints.priority) out->set_priority(hints.priority->value);
  for (const std::string& hint : hints.others) {
    const size_t equals = hint.find('=');
    if (equals == std::string::npos) continue;
    (*out->mutable_others())[Printable(hint.substr(0, equals))] =
        Printable(hint.substr(equals + 1));
  }
}

bool IsHint(const std::string& text) {
  return text.size() <= kMaxHint && Printable(text) == text;
}

// Returns the reason why hints are invalid, or an empty string.
std::string ProblemOfHints(const v1::Hints& hints) {
  if (!IsHint(hints.name()) || !IsHint(hints.queue()) ||
      !IsHint(hints.account())) {
    return "with a name, queue or account of more than 255 printable bytes";
  }
  size_t size = 0;
  for (const auto& [name, value] : hints.others()) {
    if (name.empty() || name.find('=') != std::string::npos ||
        !IsText(name + value)) {
      return "with a hint that is not NAME=VALUE";
    }
    size += name.size() + value.size() + 1;
  }
  return hints.others().size() > kMaxHints || size > kMaxHintBytes
             ? "with more than 64 hints, or more than 4096 bytes of them"
             : "";
}

void TakeHints(const v1::Hints& hints, JobRequest* job) {
  job->name = hints.name();
  job->hints.queue = hints.queue();
  job->hints.account = hints.account();
  if (hints.has_priority()) job->hints.priority = {hints.priority()};
  for (const auto& [name, value] : hints.others()) {
    job->hints.others.push_back(name + "=" + value);
  }
  std::ranges::sort(job->hints.others);
}

// Adds the directives of the job, which are the first part of a spawn call.
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
  out->mutable_user()->set_uid(caller.uid);
  out->mutable_user()->set_gid(caller.gid);
  out->set_host_job_id(caller.host_job);
  if (!caller.process) return;
  out->mutable_process()->set_nspace(Printable(caller.process->nspace));
  out->mutable_process()->set_rank(caller.process->rank);
}

v1::PlaceJobRequest ToMessage(const PlacementRequest& request,
                              const std::string& here, int64_t now,
                              int64_t now_ms) {
  v1::PlaceJobRequest out;
  const MappingNeeds needs = NeedsOf(request.job.places.map_by);
  PutPlacement(request.id, out.mutable_placement());
  PutCaller(request.caller, out.mutable_caller());
  PutApplications(request, needs, &out);
  const JobPlaces& places = request.job.places;
  PutHosts(places.hosts, out.mutable_hosts());
  if (needs.not_here || places.no_local) out.add_refused_nodes(here);
  out.set_cpus(Printable(places.cpu_list));
  out.set_oversubscribe(places.oversubscribe);
  *out.mutable_mapping() = MappingOf(places.map_by);
  if (request.job.timeout_seconds != 0) {
    *out.mutable_time_limit() = DurationOfSeconds(request.job.timeout_seconds);
  }
  if (request.give_up != 0) {
    *out.mutable_give_up_time() =
        TimestampOf(now_ms + (request.give_up - now) / 1000000);
  }
  *out.mutable_request_time() = TimestampOf(request.since_ms);
  PutDirectives(request.directives, &out);
  PutHints(request.job.name, request.job.hints, out.mutable_hints());
  out.set_parent(Printable(request.parent));
  out.set_again(request.again);
  return out;
}

PlacementQueued FromMessage(const v1::Queued& queued) {
  PlacementQueued out;
  out.reason = LineOf(queued.reason());
  if (queued.has_expected_start_time()) {
    out.reason += ExpectedAt(MsOf(queued.expected_start_time()));
  }
  if (queued.has_queue_time()) out.since_ms = MsOf(queued.queue_time());
  out.position = queued.position();
  return out;
}

Result<PlacementGrant> FromMessage(const v1::Granted& granted) {
  const auto malformed = [](const std::string& what) {
    return Status(kErrUnpackFailure, "a grant " + what);
  };
  PlacementGrant out;
  out.host_job = granted.host_job_id();
  out.time_limit_seconds = SecondsOf(granted.time_limit());
  if (out.host_job.size() > kMaxHostJob) return malformed("with a long name");
  if (LineOf(out.host_job) != out.host_job) {
    return malformed("with control characters in its name");
  }
  if (granted.nodes_size() == 0) return malformed("without nodes");
  if (granted.nodes_size() > kMaxNodes) return malformed("of too many nodes");
  std::set<std::string> names;
  for (const v1::GrantedNode& node : granted.nodes()) {
    if (!names.insert(node.name()).second) {
      return malformed("of node " + LineOf(node.name()) + " twice");
    }
    Result<GrantedNode> to = FromMessage(node);
    if (!to.ok()) return malformed(to.status().message());
    out.nodes.push_back(*std::move(to));
  }
  const std::string problem = ProblemOfEnvironment(granted.env());
  if (!problem.empty()) return malformed(problem);
  out.env = {granted.env().begin(), granted.env().end()};
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
  if (launch.applications_size() > kMaxApplications) {
    return malformed("of too many applications");
  }
  for (const v1::LaunchApplication& app : launch.applications()) {
    JobApp& to = out.job.apps.emplace_back();
    to.argv = {app.argv().begin(), app.argv().end()};
    to.num_procs = app.num_procs();
    if (!std::ranges::all_of(app.argv(), IsText)) {
      return malformed("with a NUL byte");
    }
    if (app.argv_size() == 0 || app.argv(0).empty()) {
      return malformed("without a program");
    }
    if (app.argv_size() > kMaxArguments) {
      return malformed("with too many arguments");
    }
  }
  if (out.job.apps.empty()) return malformed("without a program");
  const std::string problem = ProblemOfEnvironment(launch.env());
  if (!problem.empty()) return malformed(problem);
  out.job.env = {launch.env().begin(), launch.env().end()};
  const std::string wrong = ProblemOfHints(launch.hints());
  if (!wrong.empty()) return malformed(wrong);
  TakeHints(launch.hints(), &out.job);
  if (!IsText(launch.cwd())) {
    return malformed("with a NUL byte in its directory");
  }
  if (!IsText(launch.output()) || !IsText(launch.error())) {
    return malformed("with a NUL byte in the name of a file");
  }
  const std::string& cwd = launch.cwd();
  out.job.cwd = cwd.empty() ? "/" : cwd;
  Result<std::string> map_by = MapByOf(launch.mapping());
  if (!map_by.ok()) return malformed("with " + map_by.status().message());
  out.job.places.map_by = *std::move(map_by);
  out.job.stdin_target = StdinTarget::kNone;
  out.job.forwarding.channels = kAllOutput;
  out.output = {PathIn(cwd, launch.output()), PathIn(cwd, launch.error()),
                launch.append()};
  return out;
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
  PutCaller(job.caller, out.mutable_caller());
  *out.mutable_request_time() = TimestampOf(job.queued_ms);
  if (job.started_ms != 0) {
    *out.mutable_start_time() = TimestampOf(job.started_ms);
  }
  if (job.time_limit_seconds != 0) {
    *out.mutable_time_limit() = DurationOfSeconds(job.time_limit_seconds);
  }
  PutHints(job.name, job.hints, out.mutable_hints());
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
  *out.mutable_request_time() = TimestampOf(job.queued_ms);
  if (job.started_ms != 0) {
    *out.mutable_start_time() = TimestampOf(job.started_ms);
  }
  *out.mutable_end_time() = TimestampOf(end.ended_ms);
  out.set_exit_code(end.exit_code);
  out.set_pmix_status(end.status);
  out.set_message(Printable(end.text));
  PutHints(job.name, job.hints, out.mutable_hints());
  out.set_procs_measured(end.used.ranks);
  if (end.used.ranks == 0) return out;
  *out.mutable_cpu_time() =
      DurationOfMs(static_cast<int64_t>(end.used.sum.cpu_us / 1000));
  out.set_peak_memory_bytes(end.used.sum.peak_bytes);
  return out;
}

}  // namespace canopy::scheduler
