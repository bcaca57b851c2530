#include "tests/sim/tool_soak.h"

#include <algorithm>
#include <cstdio>

#include "common/status.h"
#include "server/core/step/control_inputs.h"
#include "tests/sim/tool_run.h"

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

namespace {

constexpr uint64_t kMaxSteps = 300'000;
constexpr TimeNs kHorizon = 3600'000 * kMs;
constexpr TimeNs kPatience = 20'000 * kMs;  // maximum wait of a reader of input
constexpr uint64_t kMostAims = 6;
constexpr uint64_t kMemberSource = 0xa0761d6478bd642f;
constexpr TimeNs kRootPause = 20 * kMs;  // until a launch is tried again
constexpr uint32_t kUser = 1000;
constexpr int kCodeOne = 1 << 8;  // wait status of exit code 1

}  // namespace

// ------------------------------------------------------------------- plans ---

uint32_t ToolSoak::NodesOf(uint64_t seed) {
  constexpr uint64_t kFewest = 4;
  constexpr uint64_t kMore = 8;
  std::mt19937_64 rng(seed ^ 0x9e3779b97f4a7c15);
  return static_cast<uint32_t>(kFewest + rng() % kMore);
}

ToolSoak::ToolSoak(uint64_t seed, const ToolSoakOptions& options)
    : options_(options),
      restarts_(seed % 2 == 0),
      rng_(seed),
      member_rng_(seed ^ kMemberSource),
      cluster_(NodesOf(seed), seed / 2 % 2 == 0 ? 2 : 32, seed,
               Persistence::kOn) {
  result_.nodes = NodesOf(seed);
  Options& of = cluster_.options();
  of.max_delay = (1 + UpTo(4)) * kMs;
  of.trace = options.trace;
  of.closes_streams = true;
  if (OneIn(3)) of.overtaking = 4;
  if (restarts_ && OneIn(2)) of.answer_delay = 5 * kMs;
  SetHooks();
  PlanAims();
  AddMemberAims(seed);
  PlanWriter("writer");
  if (OneIn(3)) PlanWriter("other");
  if (!OneIn(3)) PlanReader("reader");
  if (!OneIn(3)) PlanStops("stops");
}

void ToolSoak::PlanAims() {
  if (OneIn(6)) return;
  for (uint64_t n = 1 + Random(kMostAims); n > 0;) {
    const ToolCell cell{static_cast<ToolPhase>(Random(kNumToolPhases)),
                        static_cast<ToolFault>(Random(kNumOwnToolFaults))};
    if (!CanOccur(cell, restarts_)) continue;
    aims_.push_back(cell);
    --n;
  }
}

void ToolSoak::SetHooks() {
  Hooks& hooks = cluster_.hooks();
  hooks.on_start = [this](const ProcId& proc) { OnStart(proc); };
  hooks.on_exit = [this](const ProcId& proc) { OnExit(proc); };
  hooks.on_leave = [this](NodeId node) { OnLeave(node); };
  hooks.on_answer = [this](RequestId request) { OnAnswer(request); };
  hooks.on_notice = [this](const ProcId& proc, int status, const ProcId& source,
                           const Bytes&) { OnNotice(proc, status, source); };
  hooks.on_pushed_input = [this](const ProcId& proc, std::string_view data) {
    Find(proc.nspace)->pushed.OnRead(proc.rank, data);
  };
  hooks.on_input_end = [this](const ProcId& proc) {
    CheckInput(*Find(proc.nspace), proc.rank, true);
    cluster_.At(cluster_.now() + UpTo(5 * kMs),
                [this, proc] { cluster_.shims().Exit(proc, 0); });
  };
  hooks.on_actions = [this](NodeId, const Actions& actions) {
    for (const Action& action : actions) {
      const auto* output = std::get_if<DeliverOutput>(&action);
      if (output != nullptr && output->redirected > 0) {
        CheckRedirection(output->nspace);
      }
    }
  };
  cluster_.network().set_on_send(
      [this](const PeerMessage& message, const Fate& fate) {
        return OnSend(message, fate);
      });
}

ToolTarget& ToolSoak::AddJob(const std::string& nspace) {
  std::vector<NodeId> agents;
  for (uint64_t n = 1 + Random(6); n > 0; --n) {
    agents.push_back(static_cast<NodeId>(Random(result_.nodes)));
  }
  auto job = std::make_unique<ToolTarget>();
  job->spec = MakeJob(nspace, agents);
  job->spec.uid = kUser;
  jobs_.push_back(std::move(job));
  return *jobs_.back();
}

void ToolSoak::PlanWriter(const std::string& nspace) {
  constexpr uint32_t kCaches[] = {0, 0, 100, 1000};
  ToolTarget& job = AddJob(nspace);
  job.spec.forwarding.channels = kAllOutput;
  job.spec.forwarding.cache_size = kCaches[Random(std::size(kCaches))];
  job.spec.forwarding.keeps_oldest = OneIn(3);
  for (Rank rank = 0; rank < job.spec.procs.size(); ++rank) {
    job.writes_left[rank] = 1 + static_cast<uint32_t>(Random(40));
  }
  for (uint64_t n = 1 + Random(4); n > 0; --n) {
    PlanPull(AddTool(PlayedTool::Kind::kPuller, job, UpTo(400 * kMs)));
  }
}

void ToolSoak::PlanReader(const std::string& nspace) {
  ToolTarget& job = AddJob(nspace);
  const bool one = OneIn(2);
  job.spec.forwarding.input = true;
  job.spec.stdin_target = one ? StdinTarget::kRank : StdinTarget::kAll;
  if (one) {
    job.spec.stdin_rank = static_cast<Rank>(Random(job.spec.procs.size()));
  }
  for (uint64_t n = 1 + Random(2); n > 0; --n) {
    PlayedTool& tool = AddTool(PlayedTool::Kind::kPusher, job, UpTo(200 * kMs));
    tool.pushes_left = 1 + static_cast<uint32_t>(Random(20));
    tool.depth = 1 + static_cast<uint32_t>(Random(3));
    tool.completes = !OneIn(3);
  }
}

void ToolSoak::PlanStops(const std::string& nspace) {
  ToolTarget& job = AddJob(nspace);
  std::vector<Rank> ranks;
  for (Rank rank = 0; !OneIn(2) && rank < job.spec.procs.size(); ++rank) {
    ranks.push_back(rank);
  }
  (OneIn(2) ? job.spec.debug.in_init : job.spec.debug.in_app) = ranks;
  AddDebugger(job, UpTo(100 * kMs));
}

ToolTarget* ToolSoak::Find(const std::string& nspace) {
  const auto it = std::ranges::find_if(
      jobs_, [&](const auto& job) { return job->spec.nspace == nspace; });
  return it == jobs_.end() ? nullptr : it->get();
}

void ToolSoak::Launch(ToolTarget& job) {
  if (!HasRoot()) {
    return cluster_.At(cluster_.now() + kRootPause,
                       [this, &job] { Launch(job); });
  }
  job.launched = true;
  job.harmed |= root_lost_;
  for (const JobNode& node : job.spec.nodes) {
    job.harmed |= cluster_.members().removed(node.agent);
  }
  job.controller = cluster_.members().root();
  cluster_.BeginLaunch(job.spec);
}

// --------------------------------------------------------------- processes ---

void ToolSoak::OnStart(const ProcId& proc) {
  ToolTarget* const job = Find(proc.nspace);
  const auto connects = [this, proc] {
    if (!cluster_.shims().IsRunning(proc)) return;
    cluster_.clients().Connect(proc);
    PlayedTool* const tool = FindTool(proc);
    if (tool == nullptr) return Stop(proc);
    tool->connected = true;
    OnConnected(*tool);
  };
  const TimeNs begins = cluster_.now() + UpTo(10 * kMs);
  if (job == nullptr) return cluster_.At(begins, connects);
  job->running.insert(proc.rank);
  job->started.insert(proc.rank);
  if (job->stops()) return cluster_.At(begins, connects);
  if (!job->spec.forwarding.input) {
    return cluster_.At(begins, [this, proc] { Write(proc); });
  }
  const bool takes = job->spec.stdin_target == StdinTarget::kAll ||
                     job->spec.stdin_rank == proc.rank;
  cluster_.At(takes ? begins + kPatience : begins, [this, proc, takes] {
    if (!cluster_.shims().IsRunning(proc)) return;
    if (takes) CheckInput(*Find(proc.nspace), proc.rank, false);
    cluster_.shims().Exit(proc, 0);
  });
}

// Writes output in bursts, with pauses.
void ToolSoak::Write(const ProcId& proc) {
  if (!cluster_.shims().IsRunning(proc)) return;
  ToolTarget& job = *Find(proc.nspace);
  if (job.writes_left[proc.rank]-- == 0) {
    return cluster_.shims().Exit(proc, 0);
  }
  const uint16_t channel = OneIn(3) ? kErrorChannel : kOutputChannel;
  const uint64_t size = 1 + Random(OneIn(8) ? 1500 : 60);
  cluster_.shims().Write(proc, channel,
                         job.written.Write({proc.rank, channel}, size));
  const TimeNs pause = OneIn(3)    ? 0
                       : OneIn(20) ? UpTo(1500 * kMs)
                                   : UpTo(20 * kMs);
  cluster_.At(cluster_.now() + pause, [this, proc] { Write(proc); });
}

void ToolSoak::OnExit(const ProcId& proc) {
  ToolTarget* const job = Find(proc.nspace);
  if (job == nullptr) {
    const auto tool = tools_.extract(proc);
    if (tool) OnToolExit(*tool.mapped());
    return;
  }
  job->running.erase(proc.rank);
  if (!job->HasEnded()) return;
  job->over = true;
  for (const auto& [id, tool] : tools_) {
    if (tool->target == job && tool->connected) OnJobOver(*tool);
  }
}

void ToolSoak::OnAnswer(RequestId request) {
  for (const auto& [proc, tool] : tools_) {
    const bool is_its = OnPullAnswer(*tool, request) ||
                        OnPushAnswer(*tool, request) ||
                        OnDebuggerAnswer(*tool, request);
    if (is_its) return;
  }
}

void ToolSoak::OnNotice(const ProcId& proc, int status, const ProcId& source) {
  constexpr int kReadyForDebug = -58;
  constexpr int kRelease = -3;
  if (status == kReadyForDebug) {
    PlayedTool* const tool = FindTool(proc);
    ToolTarget* const job = Find(source.nspace);
    if (tool == nullptr && job != nullptr) return;  // the job has ended
    if (job == nullptr || source.rank != kRankWildcard) {
      return Error(ToString(proc) + " is told that " + ToString(source) +
                   " has stopped");
    }
    OnReady(*tool, *job);
  } else if (status == kRelease) {
    ToolTarget* const job = Find(proc.nspace);
    if (job == nullptr) return Error(ToString(proc) + " is released");
    OnReleased(*job, proc.rank);
  }
}

// A process whose connection the agent closes ends with an error.
void ToolSoak::EndClosed() {
  while (closed_seen_ < cluster_.clients().closed().size()) {
    const ClientId client = cluster_.clients().closed()[closed_seen_++];
    const auto it = std::ranges::find_if(tools_, [&](const auto& entry) {
      return entry.second->connected &&
             cluster_.clients().IdOf(entry.first) == client;
    });
    if (it != tools_.end()) {
      cluster_.shims().Exit(ProcId(it->first), kCodeOne);
    }
  }
}

// ------------------------------------------------------------------- tools ---

PlayedTool& ToolSoak::AddTool(PlayedTool::Kind kind, ToolTarget& target,
                              TimeNs begins) {
  auto tool = std::make_unique<PlayedTool>();
  tool->kind = kind;
  tool->proc = {"tool" + std::to_string(++last_tool_), 0};
  tool->target = &target;
  const ProcId proc = tool->proc;
  PlayedTool& added = *(tools_[proc] = std::move(tool));
  ++to_launch_;
  cluster_.At(cluster_.now() + begins, [this, proc] { LaunchTool(proc); });
  return added;
}

void ToolSoak::LaunchTool(const ProcId& proc) {
  if (!HasRoot()) {
    return cluster_.At(cluster_.now() + kRootPause,
                       [this, proc] { LaunchTool(proc); });
  }
  --to_launch_;
  PlayedTool& tool = *tools_.at(proc);
  NodeId node = kNoNode;
  while (node == kNoNode || !MayPlaceOn(node)) {
    node = static_cast<NodeId>(Random(result_.nodes));
  }
  tool.spec = MakeJob(proc.nspace, {node});
  tool.spec.uid = kUser;
  cluster_.BeginLaunch(tool.spec);
}

PlayedTool* ToolSoak::FindTool(const ProcId& proc) {
  const auto it = tools_.find(proc);
  return it == tools_.end() ? nullptr : it->second.get();
}

void ToolSoak::Later(const ProcId& tool, TimeNs after, Then then) {
  cluster_.At(cluster_.now() + after, [this, tool, then = std::move(then)] {
    PlayedTool* const there = FindTool(tool);
    if (there != nullptr && cluster_.shims().IsRunning(tool)) then(*there);
  });
}

void ToolSoak::OnConnected(PlayedTool& tool) {
  constexpr TimeNs kLife = 4000 * kMs;
  constexpr int kReadyForDebug = -58;
  if (OneIn(8)) {
    Later(tool.proc, UpTo(kLife), [this](PlayedTool& dies) {
      cluster_.shims().Exit(ProcId(dies.proc), kCodeOne);
    });
  }
  for (const auto& pull : tool.pulls) Read(tool, *pull);
  if (tool.kind == PlayedTool::Kind::kPusher) {
    for (uint32_t i = 0; i < tool.depth; ++i) Push(tool);
  }
  if (tool.kind == PlayedTool::Kind::kDebugger) {
    tool.registration =
        cluster_.clients().WantEvents(tool.proc, {kReadyForDebug});
    // The tool is not notified of a job that has failed to start.
    Later(tool.proc, kPatience, [this](PlayedTool& there) {
      if (there.target->running.empty()) OnJobOver(there);
    });
  }
  if (tool.target->over) OnJobOver(tool);
}

void ToolSoak::OnToolExit(PlayedTool& tool) {
  // The time for which the job's output may still be sent to the tool: until
  // its agent has notified the job's controller or, during a restart, until the
  // controller no longer waits for pullers that the successor of the tool's
  // agent may not know.
  const TimeNs heard =
      restarts_ && cluster_.now() < settled_ ? 70'000 * kMs : 3'000 * kMs;
  for (const auto& pull : tool.pulls) {
    if (!pull->read.redirects || pull->state == PlayedPull::State::kDone) {
      continue;
    }
    TimeNs& until = pull->job.redirected_until;
    until = std::max(until, cluster_.now() + heard);
  }
  const bool holds = tool.kind == PlayedTool::Kind::kDebugger &&
                     (tool.release != 0 || !tool.target->is_released) &&
                     !tool.target->over && !tool.target->running.empty();
  if (holds) AddDebugger(*tool.target, UpTo(100 * kMs));
}

void ToolSoak::LeaveIfDone(PlayedTool& tool) {
  const bool pulls = std::ranges::any_of(tool.pulls, [](const auto& pull) {
    return pull->state != PlayedPull::State::kDone || pull->request != 0;
  });
  const bool waits = pulls || !tool.pushes.empty() || tool.pushes_left > 0 ||
                     tool.registration != 0 || tool.release != 0;
  if (waits) return;
  cluster_.Leave(ProcId(tool.proc));
}

void ToolSoak::OnJobOver(PlayedTool& tool) {
  if (tool.kind == PlayedTool::Kind::kPuller) return;
  Later(tool.proc, kMs, [this](PlayedTool& there) {
    there.pushes_left = 0;
    if (there.release == 0) there.registration = 0;
    LeaveIfDone(there);
  });
}

// ------------------------------------------------------------------- run ---

void ToolSoak::RunToQuiet() {
  const TimeNs end = cluster_.now() + kHorizon;
  for (;;) {
    EndClosed();
    MayStrike();
    if (++result_.steps > kMaxSteps) return Error("it does not come to rest");
    if (!cluster_.RunNext(end)) return;
  }
}

ToolSoakResult ToolSoak::Run() {
  for (const auto& job : jobs_) {
    cluster_.At(UpTo(50 * kMs), [this, &job] { Launch(*job); });
  }
  RunToQuiet();
  while (AddMissingDebugger()) RunToQuiet();
  CheckEnd();
  return std::move(result_);
}

// Adds a debugger for a job that waits for one. A debugger may not have been
// launched, because its node was lost, or it left before the job began.
bool ToolSoak::AddMissingDebugger() {
  const auto held = std::ranges::find_if(jobs_, [](const auto& job) {
    return job->stops() && !job->running.empty();
  });
  if (held == jobs_.end()) return false;
  const auto is_its = [&](const auto& entry) {
    const PlayedTool& tool = *entry.second;
    return tool.kind == PlayedTool::Kind::kDebugger &&
           tool.target == held->get();
  };
  const auto known = std::ranges::find_if(tools_, is_its);
  if (known != tools_.end()) {
    if (known->second->connected) return false;
    tools_.erase(known);
  }
  AddDebugger(**held, 0);
  return true;
}

// Reports every remaining tool, because it waits forever.
void ToolSoak::CheckEnd() {
  std::map<std::string, std::vector<JobChanged>> ends;
  for (const JobChanged& change : cluster_.launchers().job_changes()) {
    if (change.phase == JobPhase::kEnded) ends[change.nspace].push_back(change);
  }
  for (const auto& [proc, tool] : tools_) {
    // Some tools may not know yet which agent is the root. Some were not
    // launched, because their node was lost.
    const bool began = tool->connected || !ends.contains(proc.nspace);
    if (!began || (root_lost_ && !tool->connected)) continue;
    Error(ToString(proc) + " waits for ever");
  }
  for (const auto& job : jobs_) {
    const std::string& nspace = job->spec.nspace;
    const auto& end = ends[nspace];
    if (end.size() > 1) Error(nspace + " ended twice");
    if (job->harmed) continue;
    if (end.empty()) {
      Error(nspace + " never ended");
    } else if (end[0].status != kSuccess) {
      Error(nspace + " ended with " + std::to_string(end[0].status) + " (" +
            end[0].text + ") although nothing has happened to it");
    }
    for (Rank rank = 0; rank < job->spec.procs.size(); ++rank) {
      const uint64_t has = cluster_.launchers().delivered({nspace, rank});
      const uint64_t written = job->written.Total(kAllOutput, {rank});
      if (has == written) continue;
      Error("the launcher has " + std::to_string(has) + " bytes of " + nspace +
            ":" + std::to_string(rank) + ", not " + std::to_string(written));
    }
  }
  for (const std::string& left : cluster_.Leftovers()) Error(left);
  for (const std::string& error : cluster_.errors()) Error(error);
}

ToolSoakResult RunToolSoak(uint64_t seed, const ToolSoakOptions& options) {
  return ToolSoak(seed, options).Run();
}

}  // namespace canopy::sim
