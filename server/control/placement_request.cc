#include "server/control/placement_request.h"

#include <time.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "common/cpuset.h"
#include "common/gpu.h"
#include "common/string_util.h"

namespace canopy::control {
namespace {

constexpr size_t kMaxRequestName = 255;
constexpr char kNamePrefix[] = "canopy-";

// Returns the slots that the applications request, or 0 if one application
// requests all slots.
uint32_t SlotsOf(const std::vector<JobApp>& apps) {
  uint32_t slots = 0;
  for (const JobApp& app : apps) {
    if (app.num_procs == 0) return 0;
    slots += std::min(app.num_procs, UINT32_MAX - slots);
  }
  return slots;
}

void AddApps(const spawn::SpawnCall& call, std::vector<JobApp>* apps) {
  for (const spawn::SpawnApp& app : call.apps) {
    apps->push_back(app);
    apps->back().hosts = app.placing.hosts;
  }
}

// Appends the words, quoted for a shell, and separates applications by " : ".
void AddCommand(const std::vector<std::string>& argv, std::string* command) {
  if (!command->empty()) *command += " : ";
  for (const std::string& arg : argv) {
    if (!command->empty() && command->back() != ' ') *command += ' ';
    *command += ShellQuoted(arg);
  }
}

}  // namespace

PlacementRequest PlacementOf(const JobRequest& job, const Caller& caller) {
  PlacementRequest out;
  out.caller.uid = caller.uid;
  out.caller.gid = caller.gid;
  out.job = job;
  out.num_slots = SlotsOf(job.apps);
  return out;
}

PlacementRequest PlacementOf(const core::HostSpawn& spawn,
                             const spawn::SpawnCall& call,
                             const JobRecord& parent) {
  PlacementRequest out;
  out.caller = {parent.job->uid, parent.job->gid, spawn.proc,
                parent.facts.placed.host_job};
  out.job = call.request;
  AddApps(call, &out.job.apps);
  if (call.cospawned) AddApps(*call.cospawned, &out.job.apps);
  out.job.places.hosts = call.placing.hosts;
  out.job.places.oversubscribe = parent.facts.oversubscribe;
  out.num_slots = SlotsOf(out.job.apps);
  out.directives = spawn.call;
  out.parent = spawn.proc.nspace;
  return out;
}

std::string RequestNameOf(const core::HostSpawn& spawn) {
  return spawn.proc.nspace + "." + std::to_string(spawn.proc.rank) + "." +
         std::to_string(spawn.request);
}

bool IsRequestName(const std::string& name) {
  return name.starts_with(kNamePrefix) && name.size() <= kMaxRequestName &&
         std::ranges::all_of(name, [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '-';
         });
}

int64_t WallClockMs() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
}

PlacementFacts PlacementFactsOf(const Placed& placed) {
  PlacementFacts facts;
  if (placed.grant.nodes.empty()) return facts;
  facts.id = placed.id;
  facts.host_job = placed.grant.host_job;
  facts.queued_ms = placed.queued_ms;
  facts.started_ms = WallClockMs();
  return facts;
}

PlacedJob PlacedJobOf(const JobRecord& record) {
  const JobSpec& job = *record.job;
  const PlacementFacts& facts = record.facts.placed;
  PlacedJob out;
  out.id = facts.id;
  out.host_job = facts.host_job;
  out.nspace = job.nspace;
  out.caller.uid = job.uid;
  out.caller.gid = job.gid;
  out.caller.host_job = facts.caller_job;
  if (!job.parent.nspace.empty()) out.caller.process = job.parent;
  out.parent = job.parent.nspace;
  out.command = CommandOf(job);
  for (const JobNode& node : job.nodes) {
    out.nodes.push_back({node.name, 0, node.slots});
  }
  for (size_t rank = 0; rank < job.procs.size(); ++rank) {
    NodeUse& use = out.nodes[job.procs[rank].node];
    ++use.procs;
    const Result<CpuSet> cpus = CpuSet::Parse(job.procs[rank].cpuset);
    if (cpus.ok()) use.cpus |= *cpus;
    if (rank >= job.gpus.size()) continue;
    for (std::string& gpu : GpuNames(job.gpus[rank])) {
      use.gpus.push_back(std::move(gpu));
    }
  }
  std::erase_if(out.nodes, [](const NodeUse& use) { return use.procs == 0; });
  out.num_procs = static_cast<uint32_t>(job.procs.size());
  out.queued_ms = facts.queued_ms;
  out.started_ms = facts.started_ms;
  out.time_limit_seconds = job.timeout_seconds;
  out.suspended = record.facts.suspended;
  out.name = job.name;
  out.hints = job.hints;
  return out;
}

PlacedJob PlacedJobOf(const Placed& placed, const PlacementRequest& request) {
  PlacedJob out;
  out.id = placed.id;
  out.host_job = placed.grant.host_job;
  out.caller = request.caller;
  out.parent = request.parent;
  out.command = CommandOf(request);
  out.queued_ms = placed.queued_ms;
  out.name = request.job.name;
  out.hints = request.job.hints;
  return out;
}

std::string CommandOf(const JobSpec& job) {
  std::string command;
  for (const JobApp& app : job.apps) AddCommand(app.argv, &command);
  return command;
}

std::string CommandOf(const PlacementRequest& request) {
  std::string command;
  for (const JobApp& app : request.job.apps) AddCommand(app.argv, &command);
  return command;
}

uint32_t NumProcs(const PlacementRequest& request) {
  uint32_t procs = 0;
  for (const JobApp& app : request.job.apps) procs += app.num_procs;
  return procs;
}

}  // namespace canopy::control
