#include "tests/sim/soak_plan.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace canopy::sim {

std::vector<Op> MakeScript(std::mt19937_64& rng, const std::string& nspace,
                           Rank ranks) {
  const auto random = [&rng](uint64_t n) { return rng() % n; };
  std::vector<ProcId> some;
  for (Rank r = 0; r < ranks; ++r) {
    if (random(2) == 0) some.push_back({nspace, r});
  }
  std::vector<Op> script;
  const uint64_t phases = 1 + random(5);
  for (uint32_t phase = 0; phase < phases; ++phase) {
    if (random(4) != 0) script.push_back({Op::Kind::kCommit, phase, {}});
    switch (random(7)) {
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
      case 5:
        if (!some.empty()) script.push_back({Op::Kind::kConnect, phase, some});
        break;
      default:
        script.push_back({Op::Kind::kForeign, phase, {}});
    }
  }
  return script;
}

void AddNames(std::mt19937_64& rng, std::vector<Op>* script) {
  const uint64_t count = 1 + rng() % 3;
  for (uint32_t number = 0; number < count; ++number) {
    const auto at = static_cast<ptrdiff_t>(rng() % (script->size() + 1));
    script->insert(script->begin() + at, Op{Op::Kind::kNames, number, {}});
  }
}

namespace {

constexpr size_t kNumAims = 8;
// Number of aims at engines with few cells. With more aims, early phases would
// be hit in every run, and late phases hardly ever.
constexpr size_t kFewAims = 4;

// One in kFocused of the runs that have only rare cells and losses has all its
// aims at one phase, because aims at other phases would often keep an operation
// from reaching that phase.
constexpr uint64_t kFocused = 3;

constexpr uint64_t kMostRare = 8;

// A join concerns all operations, so it hits most phases without an aim.
uint64_t RarityOfJoin(Phase phase) {
  switch (phase) {
    case Phase::kGroupReporting:
      return 4;
    case Phase::kConnected:
      return 3;
    case Phase::kGrouped:
      return 4;
    case Phase::kAbortEnding:
    case Phase::kAbortAnswering:
      return 2;
    default:
      return 1;
  }
}

// Returns the weight of a cell, up to kMostRare, in the seeds that have only
// rare cells (three of four seeds). A phase is rare if many operations never
// reach it, or pass it in a moment.
uint64_t Rarity(const Cell& cell) {
  const bool again = NeedsRestarts(cell.fault);
  if (cell.fault == Fault::kMemberJoins) return RarityOfJoin(cell.phase);
  // No aim is needed: in any run, many messages of each operation are doubled.
  if (cell.fault == Fault::kDoubled) return 0;
  const bool asked = cell.fault == Fault::kAskedAgain;
  switch (cell.phase) {
    case Phase::kConnected:
    case Phase::kGrouped:
      // The loss of an agent misses the phase more often than the death of a
      // process.
      return cell.fault == Fault::kProcDies ? 7 : 8;
    case Phase::kConnectResolving:
      return again || cell.fault == Fault::kLie ? 2 : 3;
    case Phase::kDisconnectReporting:
      return again ? 2 : 8;
    case Phase::kDisconnectGathering:
      return again ? 3 : 4;
    case Phase::kDisconnectReleasing:
      return again ? 3 : cell.fault == Fault::kLate ? 7 : 4;
    case Phase::kAbortEnding:
      return asked ? 5 : 8;
    case Phase::kAbortAnswering:
      return asked ? 2 : 5;
    case Phase::kAbortRequested:
      return again ? 1 : 2;
    case Phase::kLookupPulling:
      return asked ? 8 : again ? 5 : 3;
    case Phase::kSpawnRequested:
      return again ? 2 : 0;
    case Phase::kSpawnExecuting:
      return again ? 3 : 0;
    case Phase::kSpawnAnswering:
      return asked ? 1 : again ? 8 : 0;
    case Phase::kConnectReporting:
      return again ? 1 : cell.fault == Fault::kLate ? 5 : 3;
    case Phase::kConnectReleasing:
      return again ? 1 : 2;
    case Phase::kLookupClaiming:
    case Phase::kUnpublishRemoving:
      return again ? 1 : 6;
    case Phase::kPublishOffering:
      return cell.fault == Fault::kProcDies ? 4 : 0;
    case Phase::kLookupWaiting:
    case Phase::kLookupEnding:
      return again ? 0 : 3;
    case Phase::kConnectGathering:
      return cell.fault == Fault::kLate ? 3 : 0;
    case Phase::kPublished:
      return cell.fault == Fault::kLate ? 4 : 0;
    case Phase::kLookupAsking:
      return cell.fault == Fault::kLie || cell.fault == Fault::kLate ||
                     cell.fault == Fault::kProcDies
                 ? 3
                 : 0;
    case Phase::kGroupResolving:
      return again ? 3 : 2;
    case Phase::kGroupGathering:
      return again || cell.fault == Fault::kLate ? 2 : 0;
    case Phase::kGroupReporting:
      return again ? 3 : 4;
    case Phase::kGroupReleasing:
      return again ? 4 : 3;
    case Phase::kUngroupReporting:
      return again ? 2 : 8;
    case Phase::kUngroupReleasing:
      return again ? 3 : 8;
    case Phase::kGroupLeaving:
      return again ? 2 : 4;
    case Phase::kUngroupGathering:
      return again ? 2 : 3;
    case Phase::kControlAnswering:
      return asked ? 2 : 8;
    case Phase::kEventKept:
    case Phase::kQueryGathering:
      return 8;
    case Phase::kEventSpreading:
    case Phase::kControlAsking:
    case Phase::kControlActing:
    case Phase::kQueryAsking:
      return 2;
    default:
      return 0;
  }
}

// Adds one to three ranks.
void AddSome(std::mt19937_64& rng, const JobSpec& spec,
             std::set<ProcId>* procs) {
  for (uint64_t count = 1 + rng() % 3; count > 0; --count) {
    procs->insert({spec.nspace, static_cast<Rank>(rng() % spec.procs.size())});
  }
}

constexpr Phase kFirstPhases[] = {
    Phase::kSpawnRequested, Phase::kConnectResolving, Phase::kPublishOffering,
    Phase::kAbortRequested, Phase::kGroupResolving,   Phase::kEventSpreading,
    Phase::kControlAsking,  Phase::kQueryAsking};

using Jobs = std::vector<std::unique_ptr<PlannedJob>>;

// Adds the operations to the scripts of several jobs, in the same order.
void AddToAll(std::mt19937_64& rng, const Jobs& jobs,
              const std::vector<Op>& ops) {
  for (const auto& job : jobs) {
    auto& script = job->script;
    size_t at = 0;
    for (const Op& op : ops) {
      at += rng() % (script.size() - at + 1);
      script.insert(script.begin() + static_cast<ptrdiff_t>(at++), op);
    }
  }
  for (const auto& job : jobs) {
    for (const auto& other : jobs) {
      if (other != job) job->partners.insert(other.get());
    }
  }
}

std::vector<ProcId> SomeOfEach(std::mt19937_64& rng, const Jobs& jobs) {
  std::set<ProcId> procs;
  for (const auto& job : jobs) AddSome(rng, job->spec, &procs);
  return {procs.begin(), procs.end()};
}

}  // namespace

std::string OnceKey(const std::string& nspace, const std::string& number) {
  return nspace + "." + number + ".once";
}

std::string ContestKey(const std::string& nspace, const std::string& number) {
  return nspace + "." + number + ".contest";
}

void AddMeetings(std::mt19937_64& rng, const Jobs& jobs) {
  constexpr uint32_t kFirstNumber = 100;  // no other connect has it
  std::vector<Op> ops;
  const uint64_t count = 3 + rng() % 3;
  for (uint32_t number = 0; number < count; ++number) {
    ops.push_back(
        {Op::Kind::kConnect, kFirstNumber + number, SomeOfEach(rng, jobs)});
  }
  AddToAll(rng, jobs, ops);
}

void AddGroups(std::mt19937_64& rng, const Jobs& jobs) {
  constexpr const char* kDirectives[] = {
      "", "", "", "pmix.grp.opt", "pmix.grp.ftcoll", "pmix.grp.notterm"};
  std::vector<std::vector<ProcId>> members;
  for (uint64_t n = 1 + rng() % 2; n > 0; --n) {
    members.push_back(SomeOfEach(rng, jobs));
  }
  std::vector<uint32_t> rounds(members.size());
  std::vector<Op> ops;
  for (uint64_t n = 4 + rng() % 4; n > 0; --n) {
    const auto number = static_cast<uint32_t>(rng() % members.size());
    Op op{Op::Kind::kGroup, number, members[number]};
    op.round = rounds[number]++;
    op.directive = kDirectives[rng() % std::size(kDirectives)];
    if (rng() % 3 != 0) op.leaver = op.some[rng() % op.some.size()];
    ops.push_back(std::move(op));
  }
  AddToAll(rng, jobs, ops);
}

int StatusOfEvent(size_t job, uint32_t number, Rank source) {
  constexpr int kFirst = -10'000;
  constexpr int kOfJob = 1000;
  constexpr int kOfNumber = 10;
  return kFirst - static_cast<int>(job) * kOfJob -
         static_cast<int>(number) * kOfNumber - static_cast<int>(source);
}

void AddEvents(std::mt19937_64& rng, const Jobs& jobs,
               std::map<int, PlannedEvent>* events) {
  // PMIX_RANGE_LOCAL, _NAMESPACE, _GLOBAL, _CUSTOM
  constexpr uint8_t kRanges[] = {2, 3, 5, 6};
  std::vector<Op> ops;
  const uint64_t count = 1 + rng() % 3;
  for (uint32_t number = 0; number < count; ++number) {
    ops.push_back({Op::Kind::kEvent, number, {}});
    for (size_t i = 0; i < jobs.size(); ++i) {
      const std::string& nspace = jobs[i]->spec.nspace;
      const auto ranks = static_cast<Rank>(jobs[i]->spec.procs.size());
      for (Rank rank = 0; rank < std::min(ranks, kActive); ++rank) {
        PlannedEvent event;
        event.source = {nspace, rank};
        event.range = kRanges[rng() % std::size(kRanges)];
        if (event.range == kRanges[3]) {
          event.targets = {{nspace, kRankWildcard},
                           {jobs.back()->spec.nspace, 0}};
        }
        (*events)[StatusOfEvent(i, number, rank)] = std::move(event);
      }
    }
  }
  AddToAll(rng, jobs, ops);
  for (const auto& job : jobs) {
    job->script.insert(job->script.begin(), {Op::Kind::kRegister, 0, {}});
  }
}

void AddControls(std::mt19937_64& rng, const Jobs& jobs) {
  std::vector<Op> ops;
  for (uint64_t n = 1 + rng() % 3; n > 0; --n) {
    std::set<ProcId> procs;
    for (uint64_t of = 1 + rng() % 2; of > 0; --of) {
      const PlannedJob& job = *jobs[rng() % jobs.size()];
      if (rng() % 2 == 0) {
        procs.insert({job.spec.nspace, kRankWildcard});
      } else {
        AddSome(rng, job.spec, &procs);
      }
    }
    ops.push_back({Op::Kind::kControl, 0, {procs.begin(), procs.end()}});
  }
  AddToAll(rng, jobs, ops);
}

void AddQueries(std::mt19937_64& rng, const Jobs& jobs) {
  std::vector<Op> ops;
  for (uint64_t n = 2 + rng() % 4; n > 0; --n) {
    ops.push_back({Op::Kind::kQuery, static_cast<uint32_t>(rng() % 8), {}});
  }
  for (const auto& job : jobs) {
    for (const Op& op : ops) {
      const auto at = static_cast<ptrdiff_t>(rng() % (job->script.size() + 1));
      job->script.insert(job->script.begin() + at, op);
    }
  }
}

void AddInvitations(std::mt19937_64& rng, const Jobs& jobs) {
  std::vector<Op> ops;
  const uint64_t count = 1 + rng() % 3;
  for (uint32_t number = 0; number < count; ++number) {
    Op op{Op::Kind::kInvite, number, SomeOfEach(rng, jobs)};
    op.leaver = op.some[rng() % op.some.size()];
    op.directive = rng() % 2 == 0 ? "pmix.grp.opt" : "";
    if (op.some.size() > 1) ops.push_back(std::move(op));
  }
  AddToAll(rng, jobs, ops);
}

std::string NameOfSet(const ProcId& definer, uint32_t number) {
  return "set" + std::to_string(number) + "." + ToString(definer);
}

void AddSets(std::mt19937_64& rng, const Jobs& jobs,
             std::map<std::string, PlayedSet>* sets) {
  std::vector<Op> ops;
  const uint64_t count = 1 + rng() % 3;
  for (uint32_t number = 0; number < count; ++number) {
    ops.push_back({Op::Kind::kSet, number, {}});
    for (const auto& job : jobs) {
      const auto ranks = static_cast<Rank>(job->spec.procs.size());
      for (Rank rank = 0; rank < std::min(ranks, kActive); ++rank) {
        PlayedSet set;
        set.definer = {job->spec.nspace, rank};
        set.number = number;
        std::set<ProcId> members;
        AddSome(rng, job->spec, &members);
        set.members = {members.begin(), members.end()};
        (*sets)[NameOfSet(set.definer, number)] = std::move(set);
      }
    }
  }
  AddToAll(rng, jobs, ops);
}

void AddAborts(std::mt19937_64& rng,
               const std::vector<std::unique_ptr<PlannedJob>>& jobs) {
  std::set<ProcId> procs;
  const size_t victim = jobs.size() > 1 ? 1 + rng() % (jobs.size() - 1) : 0;
  AddSome(rng, jobs[victim]->spec, &procs);
  if (rng() % 4 == 0) AddSome(rng, jobs.back()->spec, &procs);
  procs.erase({jobs.front()->spec.nspace, 0});
  const std::vector<ProcId> some(procs.begin(), procs.end());
  if (some.empty()) return;
  auto& script = jobs.front()->script;
  const auto at =
      static_cast<ptrdiff_t>(script.size() - rng() % 2 * (script.size() / 2));
  script.insert(script.begin() + at, {Op::Kind::kAbort, 0, some});
}

bool IsShort(Phase phase) {
  switch (phase) {
    case Phase::kSpawnAnswering:
    case Phase::kConnected:
    case Phase::kDisconnectReporting:
    case Phase::kDisconnectReleasing:
    case Phase::kPublishPulling:
    case Phase::kLookupPulling:
    case Phase::kLookupClaiming:
    case Phase::kUnpublishRemoving:
    case Phase::kAbortEnding:
    case Phase::kAbortAnswering:
    case Phase::kGrouped:
    case Phase::kGroupLeaving:
    case Phase::kUngroupReporting:
    case Phase::kUngroupReleasing:
    case Phase::kControlAsking:
    case Phase::kControlActing:
    case Phase::kControlAnswering:
    case Phase::kQueryAsking:
    case Phase::kQueryGathering:
      return true;
    default:
      return false;
  }
}

Engine EngineOf(Phase phase) {
  size_t engine = 0;
  while (engine + 1 < std::size(kFirstPhases) &&
         phase >= kFirstPhases[engine + 1]) {
    ++engine;
  }
  return static_cast<Engine>(engine);
}

namespace {

struct Share {
  Engine engine;
  uint64_t with_losses;
  uint64_t with_restarts;
};

// The shares depend on how rare the rarest cells of an engine are. Names have
// the most operations and take the most time.
constexpr Share kShares[] = {
    {Engine::kSpawn, 5, 8},   {Engine::kConnect, 11, 8},
    {Engine::kNames, 7, 11},  {Engine::kAbort, 6, 16},
    {Engine::kGroup, 16, 9},  {Engine::kEvent, 3, 3},
    {Engine::kControl, 4, 5}, {Engine::kQuery, 3, 3}};

Engine EngineToAim(std::mt19937_64& rng, bool restarts) {
  const auto of = [restarts](const Share& share) {
    return restarts ? share.with_restarts : share.with_losses;
  };
  uint64_t sum = 0;
  for (const Share& share : kShares) sum += of(share);
  uint64_t left = rng() % sum;
  const Share* share = std::begin(kShares);
  while (left >= of(*share)) left -= of(*share++);
  return share->engine;
}

bool IsPossible(const Cell& cell, bool restarts, bool rejoins) {
  return WhyNever(cell).empty() &&
         (restarts ? !NeedsLosses(cell.fault) : !NeedsRestarts(cell.fault)) &&
         (rejoins || cell.fault != Fault::kLinkLost);
}

// Returns a cell of the engine; among rare cells, the rarest most often.
Cell MakeAim(std::mt19937_64& rng, Engine engine, bool restarts, bool rejoins,
             bool only_rare) {
  for (;;) {
    const Cell cell{static_cast<Phase>(rng() % kNumPhases),
                    static_cast<Fault>(rng() % kNumOwnFaults)};
    // In seeds with restarts, faults that need restarts are preferred, because
    // no other seeds have them. Short phases are preferred as well.
    const bool rare = !restarts || NeedsRestarts(cell.fault) || rng() % 10 == 0;
    const bool wanted = only_rare ? rng() % kMostRare < Rarity(cell)
                                  : IsShort(cell.phase) || rng() % 3 == 0;
    if (EngineOf(cell.phase) == engine && rare && wanted &&
        IsPossible(cell, restarts, rejoins)) {
      return cell;
    }
  }
}

// Returns all cells of one phase in seeds with losses.
std::vector<Cell> MakeAimsOf(std::mt19937_64& rng, Phase phase, bool rejoins) {
  std::vector<Cell> aims;
  for (size_t fault = 0; fault < kNumOwnFaults; ++fault) {
    const Cell cell{phase, static_cast<Fault>(fault)};
    if (Rarity(cell) > 0 && IsPossible(cell, false, rejoins)) {
      aims.push_back(cell);
    }
  }
  std::ranges::shuffle(aims, rng);
  return aims;
}

}  // namespace

std::vector<Cell> MakeAims(std::mt19937_64& rng, bool restarts, bool rejoins) {
  const Engine engine = EngineToAim(rng, restarts);
  const bool has_rare = restarts || engine != Engine::kSpawn;
  const bool only_rare = has_rare && rng() % 4 != 0;
  const bool few =
      engine == Engine::kEvent ||
      (restarts && (engine == Engine::kSpawn || engine == Engine::kAbort));
  std::vector<Cell> aims = {MakeAim(rng, engine, restarts, rejoins, only_rare)};
  if (only_rare && !restarts && rng() % kFocused == 0) {
    return MakeAimsOf(rng, aims.front().phase, rejoins);
  }
  while (aims.size() < (few ? kFewAims : kNumAims)) {
    const Cell cell = MakeAim(rng, engine, restarts, rejoins, only_rare);
    if (std::ranges::count(aims, cell) == 0) aims.push_back(cell);
  }
  return aims;
}

std::vector<Cell> MakeMemberAims(std::mt19937_64& rng, Engine engine,
                                 bool restarts) {
  constexpr Fault kLeaves[] = {Fault::kForwarderLeaves, Fault::kMemberLeaves,
                               Fault::kForwarderLeaves, Fault::kRootLeaves};
  constexpr size_t kNumMemberAims = 8;
  std::vector<Cell> aims;
  while (aims.size() < kNumMemberAims) {
    const Fault fault = restarts ? Fault::kForwarderLeaves
                                 : kLeaves[aims.size() % std::size(kLeaves)];
    const Cell cell{static_cast<Phase>(rng() % kNumPhases), fault};
    const uint64_t rarity = 2 + Rarity({cell.phase, Fault::kAgentLost});
    if (EngineOf(cell.phase) != engine || rng() % kMostRare >= rarity) continue;
    aims.push_back(cell);
  }
  return aims;
}

}  // namespace canopy::sim
