#include "tests/sim/host_soak.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "common/bytes.h"
#include "common/host_op.h"
#include "common/job.h"
#include "common/status.h"
#include "server/core/step/control_inputs.h"
#include "tests/sim/cluster.h"
#include "tests/sim/spawn_host.h"

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

namespace {

constexpr uint64_t kMaxSteps = 200'000;
constexpr TimeNs kHorizon = 3600'000 * kMs;
constexpr TimeNs kSettle = 120 * kMs;
constexpr TimeNs kPause = 60 * kMs;
constexpr int kCodeOne = 1 << 8;  // wait status of exit code 1
constexpr int kSegfault = 11;
// One event in `kStrikes` is a fault; one in `kHastyStrikes` while a call with
// a short wait is pending.
constexpr uint64_t kStrikes = 40;
constexpr uint64_t kHastyStrikes = 6;
constexpr char kSpawned[] = "spawned";
constexpr HostOp kOps[] = {
    HostOp::kAllocate,       HostOp::kMonitor,        HostOp::kLog,
    HostOp::kControlSession, HostOp::kBlockResources, HostOp::kGetCredential};

// A pending call or spawn.
struct OpenCall {
  ProcId proc;
  bool of_spawn = false;
  Bytes bytes;  // the bytes of a call
  bool struck = false;
};

struct PlayedJob {
  JobSpec spec;
  // True if the job's processes only fence. Faults of other jobs must not
  // affect them.
  bool bystander = false;
  uint32_t rounds = 0;
  bool launched = false;
  NodeId controller = kNoNode;
  bool harmed = false;
};

struct PlayedProc {
  PlayedJob* job = nullptr;
  uint32_t round = 0;
  bool fences = false;  // the next operation is a fence
  bool connected = false;
  bool paused = false;
  std::set<RequestId> open;
};

class HostSoak {
 public:
  HostSoak(uint64_t seed, const HostSoakOptions& options)
      : options_(options),
        restarts_(seed % 2 == 0),
        rng_(seed),
        cluster_(NodesOf(seed), seed / 2 % 2 == 0 ? 2 : 32, seed,
                 restarts_ ? Persistence::kOn : Persistence::kOff) {
    result_.nodes = NodesOf(seed);
    cluster_.options().max_delay = (1 + static_cast<TimeNs>(Random(4))) * kMs;
    cluster_.options().trace = options.trace;
    if (restarts_ && OneIn(2)) cluster_.options().answer_delay = 5 * kMs;
    SetHooks();
    SetHost();
    if (!OneIn(5)) faults_left_ = 1 + Random(6);
    PlanJobs();
  }

  HostSoakResult Run() {
    for (const auto& job : jobs_) Launch(*job);
    RunToQuiet();
    CheckEnd();
    return std::move(result_);
  }

 private:
  uint64_t Random(uint64_t n) { return n == 0 ? 0 : rng_() % n; }
  bool OneIn(uint64_t n) { return Random(n) == 0; }
  static uint32_t NodesOf(uint64_t seed) {
    std::mt19937_64 rng(seed ^ 0x9e3779b97f4a7c15);
    return 4 + static_cast<uint32_t>(rng() % 8);
  }
  void Error(const std::string& text) { result_.errors.push_back(text); }
  void Note(const std::string& fault) {
    result_.faults.push_back(fault);
    if (options_.verbose) fprintf(stderr, "%s\n", fault.c_str());
  }

  void SetHooks();
  void SetHost();
  void PlanJobs();
  void Launch(PlayedJob& job);

  void OnStart(const ProcId& proc);
  void OnAnswer(RequestId request);
  void Advance(const ProcId& proc);
  void BeginRound(const ProcId& proc, PlayedProc& played);
  void EndClosed();
  void CheckCall(RequestId request, const OpenCall& call);
  void CheckSpawn(RequestId request, const OpenCall& call);
  // Returns no value if the host has not received the call yet.
  std::optional<Manner> MannerOf(RequestId request, const OpenCall& call);

  static bool IsShort(Manner manner);
  void MayStrike();
  void Strike(const ProcId& proc);
  void StrikeNode(HostFault fault, NodeId node);
  void StrikeProc(const ProcId& proc);
  void StrikeJob(PlayedJob& job);
  void Hit(HostFault fault, const std::function<bool(const ProcId&)>& whom);
  void Harm(NodeId node);
  PlayedJob& JobOf(const std::string& nspace);
  uint32_t NumAlive() const;

  void RunToQuiet();
  void CheckEnd();

  const HostSoakOptions options_;
  const bool restarts_;
  HostSoakResult result_;
  std::mt19937_64 rng_;
  Cluster cluster_;
  std::vector<std::unique_ptr<PlayedJob>> jobs_;
  std::map<ProcId, PlayedProc> procs_;
  std::map<RequestId, OpenCall> calls_;
  // By the caller and the request of a spawn: its manner, and the status that
  // the host decides.
  std::map<std::pair<ProcId, RequestId>, std::pair<Manner, int>> placed_;
  std::vector<ProcId> ready_;
  size_t closed_seen_ = 0;
  uint64_t faults_left_ = 0;
  uint64_t last_call_ = 0;
  bool any_loss_ = false;
  TimeNs settled_ = 0;  // from then on, no restart is in progress
};

// ------------------------------------------------------------------- plans ---

void HostSoak::SetHooks() {
  Hooks& hooks = cluster_.hooks();
  hooks.on_start = [this](const ProcId& proc) { OnStart(proc); };
  hooks.on_exit = [this](const ProcId& proc) {
    procs_.erase(proc);
    std::erase_if(calls_,
                  [&](const auto& call) { return call.second.proc == proc; });
  };
  hooks.on_answer = [this](RequestId request) { OnAnswer(request); };
}

void HostSoak::SetHost() {
  cluster_.host().set_sabotage(options_.sabotage);
  cluster_.host().set_manners([this](const AskHost&) {
    return static_cast<Manner>(Random(kNumManners));
  });
  cluster_.spawn_host().set_place([this](const HostSpawn& spawn) {
    constexpr Manner kOfSpawns[] = {Manner::kPrompt, Manner::kLate,
                                    Manner::kTwice,  Manner::kRefuses,
                                    Manner::kNever,  Manner::kAway};
    constexpr int kRefusals[] = {kErrJobAllocFailed, kErrNotSupported,
                                 kErrJobInsufficientResources};
    const auto [it, is_new] = placed_.try_emplace({spawn.proc, spawn.request});
    auto& [manner, status] = it->second;
    if (is_new) {
      manner = kOfSpawns[Random(std::size(kOfSpawns))];
      status = manner == Manner::kRefuses
                   ? kRefusals[Random(std::size(kRefusals))]
               : manner == Manner::kNever ? kErrTimeout
                                          : kSuccess;
    }
    SpawnHost::Placement out;
    out.status = status;
    out.answered_twice = manner == Manner::kTwice;
    if (manner == Manner::kNever) out.after = kHostPatience;
    if (manner == Manner::kLate || manner == Manner::kAway) {
      out.after = static_cast<TimeNs>(Random(400 * kMs));
    }
    return out;
  });
}

void HostSoak::PlanJobs() {
  const uint64_t count = 2 + Random(2);
  for (uint64_t i = 0; i < count; ++i) {
    auto job = std::make_unique<PlayedJob>();
    std::vector<NodeId> agents;
    for (uint64_t n = 1 + Random(6); n > 0; --n) {
      agents.push_back(static_cast<NodeId>(Random(result_.nodes)));
    }
    job->spec = MakeJob("job" + std::to_string(i), agents);
    job->spec.uid = 1000 + static_cast<uint32_t>(i);
    job->bystander = i == 0;
    job->rounds = 1 + static_cast<uint32_t>(Random(4));
    jobs_.push_back(std::move(job));
  }
}

void HostSoak::Launch(PlayedJob& job) {
  job.launched = true;
  job.controller = cluster_.members().root();
  cluster_.BeginLaunch(job.spec);
}

PlayedJob& HostSoak::JobOf(const std::string& nspace) {
  return **std::ranges::find_if(
      jobs_, [&](const auto& job) { return job->spec.nspace == nspace; });
}

// --------------------------------------------------------------- processes ---

void HostSoak::OnStart(const ProcId& proc) {
  if (proc.nspace.starts_with(kSpawned)) {
    const auto life = static_cast<TimeNs>(Random(20 * kMs));
    return cluster_.At(cluster_.now() + life, [this, proc] {
      if (cluster_.shims().IsRunning(proc)) cluster_.shims().Exit(proc, 0);
    });
  }
  procs_[proc].job = &JobOf(proc.nspace);
  const auto delay = static_cast<TimeNs>(Random(5 * kMs));
  cluster_.At(cluster_.now() + delay, [this, proc] {
    const auto it = procs_.find(proc);
    if (it == procs_.end() || !cluster_.shims().IsRunning(proc)) return;
    cluster_.clients().Connect(proc);
    it->second.connected = true;
    ready_.push_back(proc);
  });
}

void HostSoak::Advance(const ProcId& proc) {
  const auto it = procs_.find(proc);
  if (it == procs_.end() || !cluster_.shims().IsRunning(proc)) return;
  PlayedProc& played = it->second;
  if (!played.connected || !played.open.empty()) return;
  if (std::exchange(played.fences, false)) {
    const RequestId fence = cluster_.clients().Fence(proc);
    played.open.insert(fence);
    return;
  }
  if (played.round++ >= played.job->rounds) return cluster_.Leave(proc);
  played.fences = true;
  BeginRound(proc, played);
  if (played.open.empty()) ready_.push_back(proc);
}

// Begins several calls at a time.
void HostSoak::BeginRound(const ProcId& proc, PlayedProc& played) {
  if (played.job->bystander) return;
  for (uint64_t n = Random(4); n > 0; --n) {
    OpenCall call;
    call.proc = proc;
    call.bytes =
        Bytes("call " + std::to_string(++last_call_) + " of " + ToString(proc));
    const RequestId request = cluster_.clients().CallHost(
        proc, kOps[Random(std::size(kOps))], call.bytes);
    played.open.insert(request);
    calls_[request] = std::move(call);
  }
  if (!OneIn(2)) return;
  std::vector<NodeId> agents;
  for (uint64_t n = 1 + Random(3); n > 0; --n) {
    agents.push_back(static_cast<NodeId>(Random(result_.nodes)));
  }
  const RequestId request =
      cluster_.clients().Spawn(proc, SpawnCallFor(agents));
  played.open.insert(request);
  calls_[request] = {proc, true, {}, false};
}

void HostSoak::OnAnswer(RequestId request) {
  const auto proc = std::ranges::find_if(procs_, [&](const auto& entry) {
    return entry.second.open.contains(request);
  });
  if (proc == procs_.end()) return;
  const int status = cluster_.clients().StatusOf(request);
  if (const auto call = calls_.extract(request)) {
    ++result_.calls;
    if (call.mapped().of_spawn) {
      CheckSpawn(request, call.mapped());
    } else {
      CheckCall(request, call.mapped());
    }
    const auto manner = MannerOf(request, call.mapped());
    if (manner && !call.mapped().struck) {
      result_.cells.Add(HostRow(*manner, call.mapped().of_spawn),
                        HostFault::kNothing);
    }
  } else if (status != kSuccess && !proc->second.job->harmed) {
    Error("a fence of " + ToString(proc->first) + " ended with " +
          std::to_string(status) + " although nothing has happened to its job");
  }
  proc->second.open.erase(request);
  if (!proc->second.open.empty()) return;
  const auto pause = static_cast<TimeNs>(Random(kPause));
  cluster_.At(cluster_.now() + pause,
              [this, id = proc->first] { ready_.push_back(id); });
}

std::optional<Manner> HostSoak::MannerOf(RequestId request,
                                         const OpenCall& call) {
  if (call.of_spawn) {
    const auto placed = placed_.find({call.proc, request});
    if (placed == placed_.end()) return std::nullopt;
    return placed->second.first;
  }
  const HostStandIn::Call* const asked = cluster_.host().Find(call.bytes);
  if (asked == nullptr) return std::nullopt;
  return asked->manner;
}

// A process whose connection the agent closes ends with an error.
void HostSoak::EndClosed() {
  while (closed_seen_ < cluster_.clients().closed().size()) {
    const ClientId client = cluster_.clients().closed()[closed_seen_++];
    const auto it = std::ranges::find_if(procs_, [&](const auto& entry) {
      return entry.second.connected &&
             cluster_.clients().IdOf(entry.first) == client;
    });
    if (it != procs_.end()) {
      cluster_.shims().Exit(ProcId(it->first), kCodeOne);
    }
  }
}

// --------------------------------------------------------------- answers ---

// The answer must be the host's decision about this call.
void HostSoak::CheckCall(RequestId request, const OpenCall& call) {
  const Answer& answer = *cluster_.clients().AnswerTo(request);
  const HostStandIn::Call* const decided = cluster_.host().Find(call.bytes);
  const std::string what = std::string(call.bytes.view());
  if (decided == nullptr) {
    if (JobOf(call.proc.nspace).harmed) return;
    return Error(what + " has an answer and was never decided");
  }
  const AskHost& ask = decided->ask;
  const JobSpec& spec = JobOf(call.proc.nspace).spec;
  if (ask.source != call.proc || ask.uid != spec.uid || ask.gid != spec.gid) {
    Error(what + " came to the host as another's");
  }
  if (answer.status != decided->status || answer.payload != decided->results) {
    Error(what + " ended with " + std::to_string(answer.status) + " '" +
          answer.payload +
          "', not as the host has decided: " + std::to_string(decided->status));
  }
}

void HostSoak::CheckSpawn(RequestId request, const OpenCall& call) {
  const Answer& answer = *cluster_.clients().AnswerTo(request);
  const auto placed = placed_.find({call.proc, request});
  const std::string what =
      "spawn " + std::to_string(request) + " of " + ToString(call.proc);
  if (placed == placed_.end()) {
    if (JobOf(call.proc.nspace).harmed) return;
    return Error(what + " has an answer and was never decided");
  }
  const int decided = placed->second.second;
  const bool failed = decided == kSuccess && any_loss_ &&
                      answer.status == kErrJobFailedToLaunch;
  if (answer.status != decided && !failed) {
    Error(what + " ended with " + std::to_string(answer.status) + ", not " +
          std::to_string(decided));
  }
  const auto& jobs = cluster_.spawn_host().JobsOf(call.proc, request);
  if (decided != kSuccess && !jobs.empty()) {
    Error(what + " was refused and has become " + jobs.front());
  }
  if (answer.status == kSuccess &&
      std::ranges::count(jobs, answer.payload) == 0) {
    Error(what + " has become what it has not: " + answer.payload);
  }
}

// ---------------------------------------------------------------- faults ---

void HostSoak::Hit(HostFault fault,
                   const std::function<bool(const ProcId&)>& whom) {
  for (auto& [request, call] : calls_) {
    if (!whom(call.proc)) continue;
    call.struck = true;
    const auto manner = MannerOf(request, call);
    if (manner) result_.cells.Add(HostRow(*manner, call.of_spawn), fault);
  }
}

bool HostSoak::IsShort(Manner manner) {
  return manner != Manner::kLate && manner != Manner::kStale &&
         manner != Manner::kNever && manner != Manner::kAway;
}

void HostSoak::MayStrike() {
  if (faults_left_ == 0) return;
  // Spawns are preferred, because there are fewer of them than calls.
  const bool spawns = !OneIn(3);
  std::vector<ProcId> hasty;
  std::vector<ProcId> others;
  for (const auto& [request, call] : calls_) {
    const auto manner = MannerOf(request, call);
    if (!manner || call.of_spawn != spawns) continue;
    (IsShort(*manner) ? hasty : others).push_back(call.proc);
  }
  if (!hasty.empty() && OneIn(kHastyStrikes)) {
    Strike(hasty[Random(hasty.size())]);
  } else if (!others.empty() && OneIn(kStrikes)) {
    Strike(others[Random(others.size())]);
  }
}

// Injects a fault into a process that waits for the host, or into its
// surroundings.
void HostSoak::Strike(const ProcId& proc) {
  const NodeId node = cluster_.NodeOf(proc);
  const NodeId root = cluster_.members().root();
  switch (Random(12)) {
    case 0:
      --faults_left_;
      return StrikeProc(proc);
    case 1:
      --faults_left_;
      return StrikeJob(JobOf(proc.nspace));
    case 2:
    case 3:
      if (restarts_) {
        return StrikeNode(HostFault::kRootRestarted, root);
      }
      return StrikeNode(HostFault::kRootLost, root);
    default:
      if (node == root) return;
      if (restarts_) return StrikeNode(HostFault::kAgentRestarted, node);
      return StrikeNode(
          OneIn(2) ? HostFault::kAgentLost : HostFault::kAgentCutOff, node);
  }
}

void HostSoak::StrikeNode(HostFault fault, NodeId node) {
  if (!cluster_.members().alive(node) || cluster_.now() < settled_) return;
  if (!restarts_ && NumAlive() < 2) return;
  --faults_left_;
  settled_ = cluster_.now() + kSettle;
  const bool of_root =
      fault == HostFault::kRootRestarted || fault == HostFault::kRootLost;
  Hit(fault, [&](const ProcId& proc) {
    return of_root || cluster_.NodeOf(proc) == node;
  });
  if (restarts_) {
    Note("restart of node " + std::to_string(node));
    return cluster_.RestartNode(node);
  }
  any_loss_ = true;
  Harm(node);
  if (fault == HostFault::kAgentCutOff) {
    Note("node " + std::to_string(node) + " joins again");
    return cluster_.Rejoin(node);
  }
  Note("loss of node " + std::to_string(node));
  const auto is_there = [&](const auto& entry) {
    return cluster_.NodeOf(entry.first) == node;
  };
  std::erase_if(procs_, is_there);
  std::erase_if(calls_, [&](const auto& call) {
    return cluster_.NodeOf(call.second.proc) == node;
  });
  cluster_.KillNode(node);
}

uint32_t HostSoak::NumAlive() const {
  uint32_t count = 0;
  for (NodeId node = 0; node < result_.nodes; ++node) {
    count += cluster_.members().alive(node) ? 1 : 0;
  }
  return count;
}

// Marks the jobs that the loss of the node may end.
void HostSoak::Harm(NodeId node) {
  for (const auto& job : jobs_) {
    const bool there = std::ranges::any_of(
        job->spec.nodes, [&](const JobNode& n) { return n.agent == node; });
    job->harmed |= there || job->controller == node;
  }
}

void HostSoak::StrikeProc(const ProcId& proc) {
  Note("crash of " + ToString(proc));
  JobOf(proc.nspace).harmed = true;
  Hit(HostFault::kProcDies, [&](const ProcId& other) { return other == proc; });
  cluster_.shims().Exit(proc, kSegfault);
}

void HostSoak::StrikeJob(PlayedJob& job) {
  Note("kill of " + job.spec.nspace);
  job.harmed = true;
  Hit(HostFault::kJobKilled,
      [&](const ProcId& other) { return other.nspace == job.spec.nspace; });
  cluster_.Input(cluster_.members().root(),
                 KillRequested{job.spec.nspace, 0, ""});
}

// ------------------------------------------------------------------- run ---

void HostSoak::RunToQuiet() {
  const TimeNs end = cluster_.now() + kHorizon;
  for (;;) {
    while (!ready_.empty()) {
      const ProcId proc = ready_.back();
      ready_.pop_back();
      Advance(proc);
    }
    EndClosed();
    if (++result_.steps > kMaxSteps) return Error("it does not come to rest");
    MayStrike();
    if (!cluster_.RunNext(end) && ready_.empty()) return;
  }
}

// Reports every remaining process, because it waits forever.
void HostSoak::CheckEnd() {
  for (const auto& [proc, played] : procs_) {
    Error(ToString(proc) + " waits for ever for " +
          std::to_string(played.open.size()) + " answers");
  }
  std::map<std::string, std::vector<JobChanged>> ends;
  for (const JobChanged& change : cluster_.launchers().job_changes()) {
    if (change.phase == JobPhase::kEnded) ends[change.nspace].push_back(change);
  }
  for (const auto& job : jobs_) {
    const auto& end = ends[job->spec.nspace];
    if (end.size() > 1) Error(job->spec.nspace + " ended twice");
    if (job->harmed) continue;
    if (end.empty()) {
      Error(job->spec.nspace + " never ended");
    } else if (end[0].status != kSuccess) {
      Error(job->spec.nspace + " ended with " + std::to_string(end[0].status) +
            " (" + end[0].text + ") although nothing has happened to it");
    }
  }
  for (const std::string& left : cluster_.Leftovers()) Error(left);
  for (const std::string& error : cluster_.errors()) Error(error);
}

}  // namespace

HostSoakResult RunHostSoak(uint64_t seed, const HostSoakOptions& options) {
  return HostSoak(seed, options).Run();
}

}  // namespace canopy::sim
