#include "tests/sim/soak.h"

#include <algorithm>

#include "common/status.h"
#include "server/core/why.h"

namespace canopy::sim {

using namespace core;  // NOLINT: the vocabulary of this file

namespace {

constexpr TimeNs kHorizon = 3600'000 * kMs;
constexpr uint64_t kMaxSteps = 300'000;
constexpr int kCodeOne = 1 << 8;  // wait status of exit code 1
constexpr int kSegfault = 11;

// What every process of a job does next.
struct Op {
  enum class Kind { kCommit, kFence, kCollect, kSome, kGet, kForeign };
  Kind kind = Kind::kCommit;
  uint32_t number = 0;
  std::vector<ProcId> some;  // of kSome
};

struct PlannedJob {
  JobSpec spec;
  std::vector<Op> script;
  bool strict = false;  // its processes end with an error when they see one
  bool launched = false;
  NodeId controller = kNoNode;
  // Something happened that may end it other than well.
  bool harmed = false;
  bool stopped = false;  // one of its processes stands still for ever
};

struct Actor {
  PlannedJob* job = nullptr;
  size_t next = 0;        // in the script
  RequestId waiting = 0;  // for this answer
  std::string operation;  // what it waits in
  uint32_t next_get = 0;  // peer
  bool stopped = false;
  bool connected = false;
};

class Soak {
 public:
  Soak(uint64_t seed, const SoakOptions& options);
  SoakResult Run();

 private:
  uint64_t Random(uint64_t n) { return n == 0 ? 0 : rng_() % n; }
  bool OneIn(uint64_t n) { return Random(n) == 0; }
  static uint32_t NodesOf(uint64_t seed, const SoakOptions& options);
  static uint32_t RadixOf(uint64_t seed, const SoakOptions& options);

  void PlanJobs();
  std::vector<Op> MakeScript(const std::string& nspace, Rank ranks);
  void Launch(PlannedJob& job);

  void OnStart(const ProcId& proc);
  void OnAnswer(RequestId request);
  void Advance(const ProcId& proc);
  void Begin(const ProcId& proc, Actor& actor, const Op& op);
  RequestId BeginGet(const ProcId& proc, const ProcId& target,
                     const std::string& key, uint32_t timeout_ms);
  void EndClosed();

  void Fault();
  NodeId RandomNode(bool alive);
  std::optional<ProcId> RandomProc();
  uint32_t NumAlive() const;
  void HarmNode(NodeId node);
  void CutOff();

  void RunToQuiet();
  void KillStopped();
  void CheckQuiet();
  void CheckWhy(const PlannedJob& job);
  void CheckEnd();
  void PrintWaiting();
  void Error(const std::string& text) { result_.errors.push_back(text); }

  const SoakOptions options_;
  SoakResult result_;
  std::mt19937_64 rng_;
  Cluster cluster_;
  std::vector<std::unique_ptr<PlannedJob>> jobs_;
  std::map<ProcId, Actor> actors_;
  std::map<RequestId, ProcId> waiting_;
  std::vector<ProcId> ready_;
  size_t closed_seen_ = 0;
  uint32_t faults_left_ = 0;
  bool any_fault_ = false;
  bool split_ = false;
  uint32_t lines_ = 0;
};

uint32_t Soak::NodesOf(uint64_t seed, const SoakOptions& options) {
  std::mt19937_64 rng(seed ^ 0x9e3779b97f4a7c15);
  const uint64_t span = options.max_nodes - options.min_nodes + 1;
  return options.min_nodes + static_cast<uint32_t>(rng() % span);
}

uint32_t Soak::RadixOf(uint64_t seed, const SoakOptions& options) {
  constexpr uint32_t kRadices[] = {2, 32, 2, 3};
  return options.radix != 0 ? options.radix : kRadices[seed % 4];
}

Soak::Soak(uint64_t seed, const SoakOptions& options)
    : options_(options),
      rng_(seed),
      cluster_(NodesOf(seed, options), RadixOf(seed, options), seed) {
  result_.nodes = NodesOf(seed, options);
  result_.radix = RadixOf(seed, options);
  cluster_.set_max_delay((1 + static_cast<TimeNs>(Random(5))) * kMs);
  if (OneIn(2)) cluster_.set_overtaking(2 + Random(10));
  if (OneIn(2)) cluster_.set_duplicates(3 + Random(20));
  if (OneIn(2)) cluster_.set_kill_delay(1 + 30 * kMs);
  lines_ = 1 + Random(3);
  cluster_.set_lines(lines_);
  cluster_.set_trace(options.trace);
  cluster_.set_on_start([this](const ProcId& proc) { OnStart(proc); });
  cluster_.set_on_exit([this](const ProcId& proc) { actors_.erase(proc); });
  cluster_.set_on_answer([this](RequestId request) { OnAnswer(request); });
  if (!OneIn(5)) faults_left_ = Random(options.max_faults + 1);
  PlanJobs();
}

// ------------------------------------------------------------------- jobs ---

void Soak::PlanJobs() {
  const uint64_t count = 1 + Random(options_.max_jobs);
  for (uint64_t i = 0; i < count; ++i) {
    auto job = std::make_unique<PlannedJob>();
    const uint64_t span = 1 + Random(result_.nodes);
    std::vector<NodeId> agents;
    for (NodeId node = 0; node < result_.nodes; ++node) agents.push_back(node);
    std::shuffle(agents.begin(), agents.end(), rng_);
    agents.resize(span);
    const uint64_t per_node = 1 + Random(3);
    std::vector<NodeId> ranks;
    for (uint64_t r = 0; r < span * per_node; ++r) {
      ranks.push_back(agents[r % span]);
    }
    if (OneIn(2)) std::ranges::sort(ranks);
    const std::string nspace = "job" + std::to_string(i);
    job->spec = MakeJob(nspace, ranks);
    job->strict = OneIn(2);
    job->script = MakeScript(nspace, static_cast<Rank>(ranks.size()));
    jobs_.push_back(std::move(job));
  }
}

std::vector<Op> Soak::MakeScript(const std::string& nspace, Rank ranks) {
  std::vector<ProcId> some;
  for (Rank r = 0; r < ranks; ++r) {
    if (OneIn(2)) some.push_back({nspace, r});
  }
  std::vector<Op> script;
  const uint64_t phases = 1 + Random(5);
  for (uint32_t phase = 0; phase < phases; ++phase) {
    if (!OneIn(4)) script.push_back({Op::Kind::kCommit, phase, {}});
    switch (Random(6)) {
      case 0:
        script.push_back({Op::Kind::kFence, phase, {}});
        break;
      case 1:
      case 2:
        script.push_back({Op::Kind::kCollect, phase, {}});
        break;
      case 3:
        if (!some.empty()) script.push_back({Op::Kind::kSome, phase, some});
        break;
      case 4:
        if (script.empty() || script.back().kind != Op::Kind::kCommit ||
            script.back().number != phase) {
          script.push_back({Op::Kind::kCommit, phase, {}});
        }
        script.push_back({Op::Kind::kGet, phase, {}});
        break;
      default:
        script.push_back({Op::Kind::kForeign, phase, {}});
    }
  }
  return script;
}

void Soak::Launch(PlannedJob& job) {
  job.launched = true;
  job.controller = cluster_.root();
  for (const JobNode& node : job.spec.nodes) {
    if (!cluster_.alive(node.agent)) job.harmed = true;
  }
  // Somebody is on the way down or up: the launch may meet that.
  if (any_fault_) job.harmed = true;
  cluster_.BeginLaunch(job.spec);
}

// -------------------------------------------------------------- processes ---

void Soak::OnStart(const ProcId& proc) {
  Actor actor;
  for (const auto& job : jobs_) {
    if (job->spec.nspace == proc.nspace) actor.job = job.get();
  }
  actors_[proc] = actor;
  const auto delay = static_cast<TimeNs>(Random(5 * kMs));
  cluster_.At(cluster_.now() + delay, [this, proc] {
    const auto it = actors_.find(proc);
    if (it == actors_.end() || !cluster_.IsRunning(proc)) return;
    cluster_.Connect(proc);
    it->second.connected = true;
    ready_.push_back(proc);
  });
}

void Soak::OnAnswer(RequestId request) {
  const auto it = waiting_.find(request);
  if (it == waiting_.end()) return;
  const ProcId proc = it->second;
  waiting_.erase(it);
  const auto actor = actors_.find(proc);
  if (actor == actors_.end() || actor->second.waiting != request) return;
  actor->second.waiting = 0;
  ready_.push_back(proc);
  const int status = cluster_.status(request);
  const bool foreign = actor->second.operation.starts_with("foreign");
  if (status == kSuccess || foreign) return;
  if (!actor->second.job->harmed) {
    Error(ToString(proc) + ": " + actor->second.operation + " ended with " +
          std::to_string(status) + " although nothing has happened to its job");
  }
  if (actor->second.job->strict) actor->second.next = SIZE_MAX;
}

void Soak::Advance(const ProcId& proc) {
  const auto it = actors_.find(proc);
  if (it == actors_.end() || !cluster_.IsRunning(proc)) return;
  Actor& actor = it->second;
  if (actor.stopped || actor.waiting != 0 || !actor.connected) return;
  if (actor.next == SIZE_MAX) return cluster_.Exit(proc, kCodeOne);
  while (actor.waiting == 0) {
    if (actor.next >= actor.job->script.size()) return cluster_.Leave(proc);
    const Op& op = actor.job->script[actor.next];
    Begin(proc, actor, op);
    const bool again =
        op.kind == Op::Kind::kGet && actor.waiting != 0 && ++actor.next_get < 3;
    if (again) break;
    actor.next_get = 0;
    ++actor.next;
  }
  if (actor.waiting != 0) waiting_[actor.waiting] = proc;
}

void Soak::Begin(const ProcId& proc, Actor& actor, const Op& op) {
  const std::string number = std::to_string(op.number);
  const Rank ranks = static_cast<Rank>(actor.job->spec.procs.size());
  actor.operation.clear();
  switch (op.kind) {
    case Op::Kind::kCommit: {
      const std::string value = ToString(proc) + "." + number;
      cluster_.Commit(proc, Scope::kGlobal, "k" + number, value);
      cluster_.Commit(proc, Scope::kGlobal, "same", value);
      const Scope side = op.number % 2 == 0 ? Scope::kLocal : Scope::kRemote;
      cluster_.Commit(proc, side, "side", value);
      return;
    }
    case Op::Kind::kFence:
    case Op::Kind::kCollect:
      actor.operation = "fence " + number;
      actor.waiting = cluster_.Fence(proc, {}, op.kind == Op::Kind::kCollect);
      return;
    case Op::Kind::kSome:
      if (std::ranges::count(op.some, proc) == 0) return;
      actor.operation = "fence of some " + number;
      actor.waiting = cluster_.Fence(proc, op.some, op.number % 2 == 0);
      return;
    case Op::Kind::kGet: {
      const Rank peer = (proc.rank * 7 + 1 + actor.next_get * 5) % ranks;
      actor.operation = "get of k" + number + " of " + std::to_string(peer);
      actor.waiting = BeginGet(proc, {proc.nspace, peer}, "k" + number, 0);
      return;
    }
    case Op::Kind::kForeign: {
      const PlannedJob& other = *jobs_[op.number % jobs_.size()];
      const ProcId target = {other.spec.nspace, 0};
      actor.operation = "foreign get of " + ToString(target);
      actor.waiting = BeginGet(proc, target, "k0", 300);
      return;
    }
  }
}

RequestId Soak::BeginGet(const ProcId& proc, const ProcId& target,
                         const std::string& key, uint32_t timeout_ms) {
  GetArrived get;
  get.target = target;
  get.key = key;
  get.timeout_ms = timeout_ms;
  return cluster_.Get(proc, std::move(get));
}

// A process whose connection the agent closes goes on to its end.
void Soak::EndClosed() {
  while (closed_seen_ < cluster_.closed().size()) {
    const ClientId client = cluster_.closed()[closed_seen_++];
    for (const auto& [proc, actor] : actors_) {
      if (!actor.connected || cluster_.client(proc) != client) continue;
      cluster_.Exit(ProcId(proc), kCodeOne);
      break;
    }
  }
}

// ----------------------------------------------------------------- faults ---

NodeId Soak::RandomNode(bool alive) {
  for (int i = 0; i < 20; ++i) {
    const auto node = static_cast<NodeId>(Random(result_.nodes));
    if (cluster_.alive(node) == alive) return node;
  }
  return kNoNode;
}

uint32_t Soak::NumAlive() const {
  uint32_t count = 0;
  for (NodeId node = 0; node < result_.nodes; ++node) {
    count += cluster_.alive(node) ? 1 : 0;
  }
  return count;
}

std::optional<ProcId> Soak::RandomProc() {
  if (actors_.empty()) return std::nullopt;
  auto it = actors_.begin();
  std::advance(it, static_cast<long>(Random(actors_.size())));
  return it->first;
}

// The jobs that the loss of a node may end.
void Soak::HarmNode(NodeId node) {
  for (const auto& job : jobs_) {
    if (!job->launched) continue;
    const bool there = std::ranges::any_of(
        job->spec.nodes, [&](const JobNode& n) { return n.agent == node; });
    if (there || job->controller == node) job->harmed = true;
  }
}

void Soak::CutOff() {
  std::set<NodeId> side;
  for (NodeId node = 0; node < result_.nodes; ++node) {
    if (node != cluster_.root() && OneIn(2)) side.insert(node);
  }
  std::string text = "split off";
  for (const NodeId node : side) {
    HarmNode(node);
    text += " " + std::to_string(node);
  }
  // What either side does with those between is its own affair.
  for (const auto& job : jobs_) job->harmed |= job->launched;
  result_.faults.push_back(text);
  cluster_.Split(side);
  split_ = true;
  const TimeNs heal = cluster_.now() + (20 + Random(200)) * kMs;
  cluster_.At(heal, [this] {
    cluster_.Heal();
    split_ = false;
  });
}

void Soak::Fault() {
  --faults_left_;
  const uint64_t kind = Random(10);
  const std::optional<ProcId> proc = RandomProc();
  const NodeId node = RandomNode(true);
  const std::string at = " at step " + std::to_string(result_.steps);
  const auto note = [&](const std::string& text) {
    result_.faults.push_back(text + at);
    if (options_.verbose) fprintf(stderr, "%s%s\n", text.c_str(), at.c_str());
  };
  if (kind <= 1 && proc) {
    note("crash of " + ToString(*proc));
    actors_.at(*proc).job->harmed = true;
    cluster_.Exit(*proc, kSegfault);
  } else if (kind <= 4 && node != kNoNode && NumAlive() > 1 && !split_) {
    note("loss of node " + std::to_string(node));
    any_fault_ = true;
    HarmNode(node);
    std::vector<ProcId> gone;
    for (const auto& [p, actor] : actors_) {
      const auto& spec = actor.job->spec;
      if (spec.nodes[spec.procs[p.rank].node].agent == node) gone.push_back(p);
    }
    cluster_.KillNode(node);
    for (const ProcId& p : gone) actors_.erase(p);
  } else if (kind == 5 && !split_ && RandomNode(false) != kNoNode) {
    const NodeId back = RandomNode(false);
    if (back == kNoNode) return;
    note("return of node " + std::to_string(back));
    cluster_.ReviveNode(back);
  } else if (options_.rejoins && kind == 6 && node != kNoNode &&
             node != cluster_.root() && !split_) {
    note("node " + std::to_string(node) + " joins again");
    any_fault_ = true;
    HarmNode(node);
    cluster_.Rejoin(node);
  } else if (options_.rejoins && kind == 7 && !split_) {
    any_fault_ = true;
    CutOff();
  } else if (kind == 8 && node != kNoNode) {
    note("stall of the link above " + std::to_string(node));
    cluster_.Stall(node, (5 + Random(100)) * kMs);
  } else if (proc) {
    note(ToString(*proc) + " stands still");
    Actor& actor = actors_.at(*proc);
    actor.stopped = actor.job->stopped = actor.job->harmed = true;
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
    if (faults_left_ > 0 && OneIn(300)) Fault();
    if (cluster_.RunNext(end)) continue;
    if (unlaunched) {
      for (const auto& job : jobs_) {
        if (!job->launched) Launch(*job);
      }
      continue;
    }
    if (faults_left_ == 0) return;
    Fault();
  }
}

void Soak::CheckWhy(const PlannedJob& job) {
  const size_t before = cluster_.states().size();
  cluster_.Input(cluster_.root(), StateRequested{1, "why", job.spec.nspace});
  cluster_.Run();
  std::vector<StateAnswer> answers;
  for (size_t i = before; i < cluster_.states().size(); ++i) {
    if (cluster_.states()[i].done) continue;
    auto answer = DecodeStateAnswer(cluster_.states()[i].answer.view());
    if (!answer.ok()) return Error("unreadable state");
    answers.push_back(std::move(*answer));
  }
  const std::vector<Waiting> all = MergeWaiting(answers);
  for (const auto& [proc, actor] : actors_) {
    if (actor.job != &job || actor.waiting == 0) continue;
    const bool named = std::ranges::any_of(all, [&](const Waiting& waiting) {
      return waiting.nspace == job.spec.nspace && waiting.callers > 0 &&
             (!waiting.missing.empty() || waiting.more_missing > 0);
    });
    if (!named) {
      Error("why does not tell for whom " + ToString(proc) + " waits in " +
            actor.operation);
    }
    return;
  }
}

// Nothing happens any more: whoever waits does so for one that stands still.
void Soak::CheckQuiet() {
  for (const auto& [proc, actor] : actors_) {
    if (actor.job->stopped) continue;
    Error(ToString(proc) + " waits for ever in " +
          (actor.waiting == 0 ? "nothing" : actor.operation));
  }
  for (const auto& job : jobs_) {
    if (job->stopped) CheckWhy(*job);
  }
}

void Soak::KillStopped() {
  for (const auto& job : jobs_) {
    if (!job->stopped) continue;
    cluster_.Input(cluster_.root(), KillRequested{job->spec.nspace, 0, ""});
  }
  // Those whose controller is lost were ended without it.
  RunToQuiet();
  for (const auto& [proc, actor] : actors_) {
    Error(ToString(proc) + " is left although its job was told to end");
  }
}

void Soak::CheckEnd() {
  std::map<std::string, std::vector<JobChanged>> ends;
  for (const JobChanged& change : cluster_.job_changes()) {
    if (change.phase == JobPhase::kEnded) ends[change.nspace].push_back(change);
  }
  for (const auto& job : jobs_) {
    const std::string& nspace = job->spec.nspace;
    const auto& end = ends[nspace];
    if (end.size() > 1) Error(nspace + " ended twice");
    if (end.empty()) {
      if (!job->harmed) Error(nspace + " never ended");
      continue;
    }
    if (end[0].status != kSuccess && end[0].text.empty()) {
      Error(nspace + " ended badly without a reason");
    }
    if (job->harmed) continue;
    if (end[0].status != kSuccess) {
      Error(nspace + " ended with " + std::to_string(end[0].status) + " (" +
            end[0].text + ") although nothing has happened to it");
    }
    for (Rank r = 0; !any_fault_ && r < job->spec.procs.size(); ++r) {
      if (cluster_.delivered({nspace, r}) != 4 * lines_) {
        Error("output of " + nspace + ":" + std::to_string(r) + " is lost");
      }
    }
  }
  for (const std::string& left : cluster_.Leftovers()) Error(left);
  for (const std::string& error : cluster_.errors()) Error(error);
}

void Soak::PrintWaiting() {
  cluster_.Input(cluster_.root(), StateRequested{2, "why", ""});
  const size_t before = cluster_.states().size();
  cluster_.Run();
  for (size_t i = before; i < cluster_.states().size(); ++i) {
    const auto& state = cluster_.states()[i];
    if (state.done) continue;
    const auto answer = DecodeStateAnswer(state.answer.view());
    if (!answer.ok()) continue;
    for (const Waiting& w : answer->waiting) {
      fprintf(stderr, "node %u: %s %s, missing", state.node, w.nspace.c_str(),
              w.operation.c_str());
      for (const MissingProc& m : w.missing) {
        fprintf(stderr, " %s on %u", ToString(m.proc).c_str(), m.node);
      }
      fprintf(stderr, "\n");
    }
  }
}

SoakResult Soak::Run() {
  Launch(*jobs_.front());
  RunToQuiet();
  CheckQuiet();
  KillStopped();
  CheckEnd();
  if (options_.verbose) {
    PrintWaiting();
    for (const std::string& line : cluster_.log()) {
      fprintf(stderr, "log: %s\n", line.c_str());
    }
  }
  return std::move(result_);
}

}  // namespace

SoakResult RunSoak(uint64_t seed, const SoakOptions& options) {
  return Soak(seed, options).Run();
}

}  // namespace canopy::sim
