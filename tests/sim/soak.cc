#include "tests/sim/soak.h"

#include <algorithm>
#include <span>
#include <utility>

#include "common/status.h"
#include "tests/sim/soak_run.h"
#include "tests/sim/spawn_host.h"

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

namespace {

constexpr TimeNs kHorizon = 3600'000 * kMs;
constexpr uint64_t kMaxSteps = 300'000;
constexpr int kCodeOne = 1 << 8;  // wait status of exit code 1
// One seed in `kInputSeeds` has jobs with standard input.
constexpr uint64_t kInputSeeds = 5;
constexpr uint64_t kInputSeed = 3;
// One seed in `kSpawnSeeds` has jobs that spawn others.
constexpr uint64_t kSpawnSeeds = 7;
constexpr uint64_t kSpawnSeed = 2;
constexpr char kSpawnedNspace[] = "spawned";
// One seed in `kNameSeeds` has jobs that publish. Such a run has few agents,
// because an owner sends requests to all members before it reports a key as
// missing.
constexpr uint64_t kNameSeeds = 3;
constexpr uint64_t kNameSeed = 2;
constexpr uint32_t kMaxNameNodes = 64;
// One seed in `kNewerSeeds` uses the newer engines.
constexpr uint64_t kNewerSeeds = 11;
constexpr Engine kNewer[] = {Engine::kGroup, Engine::kGroup, Engine::kEvent,
                             Engine::kControl, Engine::kQuery};
// The seeds with invitations, and those with process sets, as remainders modulo
// kNewerSeeds.
constexpr uint64_t kInvitationSeeds[] = {5, 6};
constexpr uint64_t kSetSeeds[] = {7, 8};
// One seed in `kUnaimedSeeds` has only faults at random times. The others have
// most of their faults at chosen times.
constexpr uint64_t kUnaimedSeeds = 4;
// From this seed on, members are drained and removed. If agents are restarted,
// only members without jobs are removed.
constexpr uint64_t kFirstMemberSeed = 1'000'000;
constexpr uint64_t kMemberSource = 0xa0761d6478bd642f;
constexpr uint32_t kUser = 1000;
constexpr uint64_t kPause = 8 * kMs;
// One operation in `kHasty` begins while an agent is being restarted.
constexpr uint64_t kHasty = 4;

// In seeds with losses and members, members are the only aims. So the other
// faults do not keep operations from late phases.
std::vector<Cell> AimsOf(uint64_t seed, const SoakOptions& options) {
  if (seed % kUnaimedSeeds == 0) return {};
  std::mt19937_64 rng(seed ^ 0xd1b54a32d192ed03);
  std::vector<Cell> aims = MakeAims(rng, options.restarts, options.rejoins);
  if (seed < kFirstMemberSeed) return aims;
  const Engine engine = EngineOf(aims.front().phase);
  if (!options.restarts) aims.clear();
  for (const Cell& cell : MakeMemberAims(rng, engine, options.restarts)) {
    aims.push_back(cell);
  }
  return aims;
}

std::optional<Engine> NewerOf(uint64_t seed) {
  const uint64_t which = seed / kUnaimedSeeds % kNewerSeeds;
  if (seed % kUnaimedSeeds != 0 || which >= std::size(kNewer)) {
    return std::nullopt;
  }
  return kNewer[which];
}

bool IsAmong(uint64_t seed, std::span<const uint64_t> seeds) {
  return seed % kUnaimedSeeds == 0 &&
         std::ranges::count(seeds, seed / kUnaimedSeeds % kNewerSeeds) > 0;
}

}  // namespace

uint32_t Soak::NodesOf(uint64_t seed, const SoakOptions& options) {
  std::mt19937_64 rng(seed ^ 0x9e3779b97f4a7c15);
  const uint64_t span = options.max_nodes - options.min_nodes + 1;
  return options.min_nodes + static_cast<uint32_t>(rng() % span);
}

uint32_t Soak::RadixOf(uint64_t seed, const SoakOptions& options) {
  constexpr uint32_t kRadices[] = {2, 32, 2, 32, 32, 2, 32, 3};
  return options.radix != 0 ? options.radix : kRadices[seed % 8];
}

bool Soak::Aims(Engine engine) const {
  return !aims_.empty() && EngineOf(aims_.front().phase) == engine;
}

Soak::Soak(uint64_t seed, const SoakOptions& options)
    : options_(options),
      aims_(AimsOf(seed, options)),
      with_input_(seed % kInputSeeds == kInputSeed),
      with_spawns_(aims_.empty() ? seed % kSpawnSeeds == kSpawnSeed
                                 : Aims(Engine::kSpawn)),
      with_names_(aims_.empty() ? seed % kNameSeeds == kNameSeed
                                : Aims(Engine::kNames)),
      newer_(NewerOf(seed)),
      with_invitations_(IsAmong(seed, kInvitationSeeds)),
      with_sets_(IsAmong(seed, kSetSeeds)),
      with_members_(seed >= kFirstMemberSeed),
      member_rng_(seed ^ kMemberSource),
      rng_(seed),
      cluster_(NodesOf(seed, options), RadixOf(seed, options), seed,
               options.restarts ? Persistence::kOn : Persistence::kOff),
      operations_(
          [this](const ProcId& proc) { return cluster_.NodeOf(proc); }) {
  result_.nodes = NodesOf(seed, options);
  result_.radix = RadixOf(seed, options);
  cluster_.options().max_delay = (1 + static_cast<TimeNs>(Random(5))) * kMs;
  if (OneIn(2)) cluster_.options().overtaking = 2 + Random(10);
  duplicates_ = OneIn(2);
  if (duplicates_) cluster_.options().duplicates = 3 + Random(20);
  if (OneIn(2)) cluster_.options().kill_delay = 1 + 30 * kMs;
  lines_ = 1 + Random(3);
  cluster_.options().lines = lines_;
  cluster_.options().trace = options.trace;
  if (options.restarts && OneIn(2)) {
    cluster_.options().answer_delay =
        (1 + static_cast<TimeNs>(Random(9))) * kMs;
  }
  cluster_.hooks().on_start = [this](const ProcId& proc) { OnStart(proc); };
  cluster_.hooks().on_exit = [this](const ProcId& proc) {
    actors_.erase(proc);
    operations_.OnExit(proc);
  };
  cluster_.hooks().on_leave = [this](NodeId node) { OnLeave(node); };
  cluster_.hooks().on_answer = [this](RequestId request) { OnAnswer(request); };
  cluster_.hooks().on_notice = [this](const ProcId& proc, int status,
                                      const ProcId& source, const Bytes& info) {
    OnNotice(proc, status, source, info);
  };
  cluster_.hooks().on_input_end = [this](const ProcId& p) { OnInputEnd(p); };
  Watch();
  const uint64_t max_faults = aims_.empty() ? options.max_faults : 1;
  if (!OneIn(5)) faults_left_ = static_cast<uint32_t>(Random(max_faults + 1));
  PlanJobs();
}

// ------------------------------------------------------------------- jobs ---

void Soak::PlanJobs() {
  const std::set<NodeId> reserved = ReservedNodes();
  uint64_t count = 1 + Random(options_.max_jobs);
  // If there are two jobs, a loss that ends one job leaves the other.
  // Operations on names take too long for two jobs.
  const bool several = !aims_.empty() && !Aims(Engine::kNames);
  if (several && options_.max_jobs > 1) count = std::max<uint64_t>(count, 2);
  for (uint64_t i = 0; i < count; ++i) {
    auto job = std::make_unique<PlannedJob>();
    uint64_t span = 1 + Random(result_.nodes);
    std::vector<NodeId> agents;
    for (NodeId node = 0; node < result_.nodes; ++node) agents.push_back(node);
    std::shuffle(agents.begin(), agents.end(), rng_);
    std::erase_if(agents, [&](NodeId node) { return reserved.contains(node); });
    span = std::min<uint64_t>(span, agents.size());
    agents.resize(span);
    const uint64_t per_node = 1 + Random(3);
    std::vector<NodeId> ranks;
    for (uint64_t r = 0; r < span * per_node; ++r) {
      ranks.push_back(agents[r % span]);
    }
    if (OneIn(2)) std::ranges::sort(ranks);
    const std::string nspace = "job" + std::to_string(i);
    job->spec = MakeJob(nspace, ranks);
    const uint64_t others = Aims(Engine::kAbort) ? 2 : 4;
    job->spec.uid = kUser + static_cast<uint32_t>(OneIn(others) ? i : 0);
    job->strict = OneIn(2);
    job->script = MakeScript(rng_, nspace, static_cast<Rank>(ranks.size()));
    if (with_input_) PlanInput(*job);
    if (with_spawns_) PlanSpawn(*job);
    if (with_names_ && result_.nodes <= kMaxNameNodes) {
      AddNames(rng_, &job->script);
    }
    jobs_.push_back(std::move(job));
  }
  if (Aims(Engine::kConnect)) AddMeetings(rng_, jobs_);
  if (Aims(Engine::kAbort)) AddAborts(rng_, jobs_);
  if (Plays(Engine::kGroup)) AddGroups(rng_, jobs_);
  if (Plays(Engine::kEvent)) AddEvents(rng_, jobs_, &events_);
  if (Plays(Engine::kControl)) AddControls(rng_, jobs_);
  if (Plays(Engine::kQuery)) AddQueries(rng_, jobs_);
  if (with_invitations_) AddInvitations(rng_, jobs_);
  if (with_sets_) AddSets(rng_, jobs_, &sets_);
}

void Soak::PlanInput(PlannedJob& job) {
  job.takes_input = true;
  job.spec.stdin_target = OneIn(2) ? StdinTarget::kAll : StdinTarget::kRank;
  job.spec.stdin_rank = static_cast<Rank>(Random(job.spec.procs.size()));
  job.pieces_left = Random(10);
}

void Soak::PlanSpawn(PlannedJob& job) {
  for (uint64_t count = 1 + Random(3); count > 0; --count) {
    const auto at = static_cast<std::ptrdiff_t>(Random(job.script.size() + 1));
    job.script.insert(job.script.begin() + at, {Op::Kind::kSpawn, 0, {}});
  }
}

void Soak::Launch(PlannedJob& job) {
  // A root that was removed launches nothing any more.
  if (cluster_.members().removed(cluster_.members().root())) return;
  PlaceAgain(job);
  job.launched = true;
  job.controller = cluster_.members().root();
  for (const JobNode& node : job.spec.nodes) {
    if (!cluster_.members().alive(node.agent)) job.harmed = true;
  }
  // The loss or the return of an agent may be in progress, which may affect the
  // launch.
  if (any_fault_) job.harmed = true;
  cluster_.BeginLaunch(job.spec);
  if (job.takes_input) OfferInput(job);
}

void Soak::OfferInput(PlannedJob& job) {
  const std::string& nspace = job.spec.nspace;
  if (job.pieces_left == 0) return cluster_.input().Close(nspace);
  --job.pieces_left;
  cluster_.input().Offer(nspace, 1 + Random(300));
  cluster_.At(cluster_.now() + static_cast<TimeNs>(Random(20 * kMs)),
              [this, &job] { OfferInput(job); });
}

// -------------------------------------------------------------- processes ---

// Spawned processes live for a while and do not connect.
void Soak::OnStartOfSpawned(const ProcId& proc) {
  const auto life = static_cast<TimeNs>(Random(20 * kMs));
  cluster_.At(cluster_.now() + life, [this, proc] {
    if (cluster_.shims().IsRunning(proc)) cluster_.shims().Exit(proc, 0);
  });
}

void Soak::OnStart(const ProcId& proc) {
  if (proc.nspace.starts_with(kSpawnedNspace)) return OnStartOfSpawned(proc);
  Actor actor;
  for (const auto& job : jobs_) {
    if (job->spec.nspace == proc.nspace) actor.job = job.get();
  }
  actor.started = cluster_.now();
  actors_[proc] = actor;
  const auto delay = static_cast<TimeNs>(Random(5 * kMs));
  cluster_.At(cluster_.now() + delay, [this, proc] {
    const auto it = actors_.find(proc);
    if (it == actors_.end() || !cluster_.shims().IsRunning(proc)) return;
    cluster_.clients().Connect(proc);
    it->second.connected = true;
    ready_.push_back(proc);
  });
}

void Soak::OnAnswer(RequestId request) {
  operations_.OnReceived(request, cluster_.clients().StatusOf(request));
  const auto it = waiting_.find(request);
  if (it == waiting_.end()) return;
  const ProcId proc = it->second;
  waiting_.erase(it);
  const auto found = actors_.find(proc);
  if (found == actors_.end() || found->second.waiting != request) return;
  Actor& actor = found->second;
  actor.waiting = 0;
  GoOnLater(proc);
  const int status = cluster_.clients().StatusOf(request);
  const std::string& operation = actor.operation;
  CheckAnswer(proc, actor, request);
  NoteAnswer(proc, actor, status);
  const std::set<int> expected = ExpectedOf(actor);
  if (expected.contains(status)) return;
  if (!IsHarmed(*actor.job)) {
    Error(ToString(proc) + ": " + operation + " ended with " +
          std::to_string(status) + " although nothing has happened to its job");
  }
  if (!actor.job->strict) return;
  actor.next = SIZE_MAX;
  actor.job->harmed = true;
}

// Continues the process after a pause. In the pause between two operations,
// faults can hit the results of the first operation, such as published keys or
// connections. Most processes wait until a restart is over, because an
// operation that begins during a restart cannot be hit by the next restart.
void Soak::GoOnLater(const ProcId& proc) {
  if (aims_.empty()) return ready_.push_back(proc);
  const bool waits = !OneIn(kHasty);
  const TimeNs from =
      waits ? std::max(cluster_.now(), settled_) : cluster_.now();
  const auto when = from + static_cast<TimeNs>(Random(kPause));
  cluster_.At(when, [this, proc] { ready_.push_back(proc); });
}

bool Soak::IsHarmed(const PlannedJob& job) {
  return job.harmed || std::ranges::any_of(job.partners, &PlannedJob::harmed);
}

void Soak::OnInputEnd(const ProcId& proc) {
  const auto actor = actors_.find(proc);
  if (actor == actors_.end()) return;
  actor->second.input_ended = true;
  ready_.push_back(proc);
}

bool Soak::AwaitsInput(const ProcId& proc, const Actor& actor) {
  const PlannedJob& job = *actor.job;
  return job.takes_input && !actor.input_ended &&
         (job.spec.stdin_target == StdinTarget::kAll ||
          job.spec.stdin_rank == proc.rank);
}

void Soak::Advance(const ProcId& proc) {
  const auto it = actors_.find(proc);
  if (it == actors_.end() || !cluster_.shims().IsRunning(proc)) return;
  Actor& actor = it->second;
  if (actor.stopped || actor.waiting != 0 || !actor.connected) return;
  if (actor.next == SIZE_MAX) return cluster_.shims().Exit(proc, kCodeOne);
  while (actor.waiting == 0) {
    if (AwaitsEvents(proc, actor)) return;
    if (actor.next >= actor.job->script.size()) {
      if (AwaitsInput(proc, actor)) return;
      return cluster_.Leave(proc);
    }
    const Op& op = actor.job->script[actor.next];
    Begin(proc, actor, op);
    const bool again =
        actor.goes_on ||
        (actor.waiting != 0 &&
         ((op.kind == Op::Kind::kGet && ++actor.next_get < 3) ||
          (op.kind == Op::Kind::kNames && ++actor.next_name < kNameSteps) ||
          (op.kind == Op::Kind::kConnect &&
           !std::exchange(actor.disconnects, true)) ||
          (op.kind == Op::Kind::kGroup &&
           !std::exchange(actor.constructed, true)) ||
          op.kind == Op::Kind::kEvent));
    if (again) break;
    actor.next_get = 0;
    actor.next_name = 0;
    actor.disconnects = actor.constructed = false;
    ++actor.next;
  }
  if (actor.waiting != 0) waiting_[actor.waiting] = proc;
}

void Soak::Begin(const ProcId& proc, Actor& actor, const Op& op) {
  const std::string number = std::to_string(op.number);
  const Rank ranks = static_cast<Rank>(actor.job->spec.procs.size());
  actor.operation.clear();
  actor.expected = {kSuccess};
  switch (op.kind) {
    case Op::Kind::kCommit: {
      const std::string value = ToString(proc) + "." + number;
      cluster_.clients().Commit(proc, Scope::kGlobal, "k" + number, value);
      cluster_.clients().Commit(proc, Scope::kGlobal, "same", value);
      const Scope side = op.number % 2 == 0 ? Scope::kLocal : Scope::kRemote;
      cluster_.clients().Commit(proc, side, "side", value);
      return;
    }
    case Op::Kind::kFence:
    case Op::Kind::kCollect:
      actor.operation = "fence " + number;
      actor.waiting =
          cluster_.clients().Fence(proc, {}, op.kind == Op::Kind::kCollect);
      return;
    case Op::Kind::kSome:
      if (std::ranges::count(op.some, proc) == 0) return;
      actor.operation = "fence of some " + number;
      actor.waiting =
          cluster_.clients().Fence(proc, op.some, op.number % 2 == 0);
      return;
    case Op::Kind::kConnect:
      if (std::ranges::count(op.some, proc) == 0) return;
      actor.operation =
          (actor.disconnects ? "disconnect " : "connect ") + number;
      actor.waiting = cluster_.clients().Collective(
          actor.disconnects ? CollectiveOp::kDisconnect
                            : CollectiveOp::kConnect,
          proc, op.some);
      return;
    case Op::Kind::kSpawn:
      if (proc.rank >= (aims_.empty() ? 1 : kActive)) return;
      actor.operation = "spawn";
      actor.waiting = BeginSpawn(proc);
      return;
    case Op::Kind::kGet: {
      const Rank peer = (proc.rank * 7 + 1 + actor.next_get * 5) % ranks;
      actor.operation = "get of k" + number + " of " + std::to_string(peer);
      actor.waiting = BeginGet(proc, {proc.nspace, peer}, "k" + number, 0);
      return;
    }
    case Op::Kind::kNames:
      return BeginName(proc, actor, number);
    case Op::Kind::kAbort:
      if (proc.rank < kActive) BeginAbort(proc, actor, op);
      return;
    case Op::Kind::kGroup:
      return BeginGroup(proc, actor, op);
    case Op::Kind::kRegister:
      if (proc.rank % 2 == 0) Register(proc, actor);
      return;
    case Op::Kind::kEvent:
      return BeginEvent(proc, actor, op);
    case Op::Kind::kControl:
      if (proc.rank < kActive) BeginControl(proc, actor, op);
      return;
    case Op::Kind::kQuery:
      if (proc.rank < kActive) BeginQuery(proc, actor, op);
      return;
    case Op::Kind::kInvite:
      return BeginInvitation(proc, actor, op);
    case Op::Kind::kSet:
      return BeginSet(proc, actor, op);
    case Op::Kind::kForeign: {
      const PlannedJob& other = *jobs_[op.number % jobs_.size()];
      const ProcId target = {other.spec.nspace, 0};
      actor.operation = kForeignGet;
      actor.targets = {target};
      actor.waiting = BeginGet(proc, target, "k0", 300);
      return;
    }
  }
}

// The root does not place processes on a node before it knows the node.
NodeId Soak::RandomPlace() {
  const auto node = static_cast<NodeId>(Random(result_.nodes));
  const uint32_t first_nodes = result_.nodes - num_added_;
  const bool is_known =
      node < first_nodes || cluster_.members().IsKnownToAll(node);
  return is_known ? node : node % first_nodes;
}

RequestId Soak::BeginSpawn(const ProcId& proc) {
  std::vector<NodeId> agents;
  for (uint64_t n = 1 + Random(4); n > 0; --n) {
    agents.push_back(RandomPlace());
  }
  return cluster_.clients().Spawn(proc, SpawnCallFor(agents));
}

// Begins an abort. The targets' jobs end, except for jobs of another user.
void Soak::BeginAbort(const ProcId& proc, Actor& actor, const Op& op) {
  actor.operation = "abort";
  for (const auto& job : jobs_) {
    if (job->spec.uid == actor.job->spec.uid &&
        std::ranges::count(op.some, job->spec.nspace, &ProcId::nspace) > 0) {
      job->harmed = true;
    }
  }
  actor.targets = op.some;
  actor.waiting =
      cluster_.clients().Abort(proc, kAbortStatus, "enough", op.some);
}

RequestId Soak::BeginGet(const ProcId& proc, const ProcId& target,
                         const std::string& key, uint32_t timeout_ms) {
  GetArrived get;
  get.target = target;
  get.key = key;
  get.timeout_ms = timeout_ms;
  return cluster_.clients().Get(proc, std::move(get));
}

// A process whose connection the agent closes ends with an error.
void Soak::EndClosed() {
  while (closed_seen_ < cluster_.clients().closed().size()) {
    const ClientId client = cluster_.clients().closed()[closed_seen_++];
    for (const auto& [proc, actor] : actors_) {
      if (!actor.connected || cluster_.clients().IdOf(proc) != client) continue;
      cluster_.shims().Exit(ProcId(proc), kCodeOne);
      break;
    }
  }
}

// -------------------------------------------------------------------- run ---

void Soak::RunToQuiet() {
  const TimeNs end = cluster_.now() + kHorizon;
  for (;;) {
    while (!ready_.empty()) {
      const ProcId proc = ready_.back();
      ready_.pop_back();
      Advance(proc);
    }
    EndClosed();
    TakeAim();
    if (++result_.steps > kMaxSteps) return Error("it does not come to rest");
    const bool unlaunched = std::ranges::any_of(
        jobs_, [](const auto& job) { return !job->launched; });
    if (unlaunched && OneIn(200)) {
      for (const auto& job : jobs_) {
        if (job->launched) continue;
        Launch(*job);
        break;
      }
    }
    if (faults_left_ > 0 && OneIn(300)) RandomFault();
    if (cluster_.RunNext(end)) continue;
    if (unlaunched) {
      for (const auto& job : jobs_) {
        if (!job->launched) Launch(*job);
      }
      continue;
    }
    if (faults_left_ > 0) {
      RandomFault();
    } else if (!WakeEventWaiters() && !WakeGoingOn()) {
      return;
    }
  }
}

SoakResult Soak::Run() {
  Launch(*jobs_.front());
  for (const auto& job : jobs_) {
    const bool together = !job->partners.empty() || Aims(Engine::kAbort);
    if (together && !job->launched) Launch(*job);
  }
  RunToQuiet();
  CheckQuiet();
  KillStopped();
  CheckEnd();
  if (options_.verbose) {
    PrintWaiting();
    for (const std::string& line : cluster_.observed().log()) {
      fprintf(stderr, "log: %s\n", line.c_str());
    }
  }
  return std::move(result_);
}

SoakResult RunSoak(uint64_t seed, const SoakOptions& options) {
  return Soak(seed, options).Run();
}

}  // namespace canopy::sim
