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

constexpr size_t kNumAims = 6;

constexpr uint64_t kMostRare = 8;

// How much a cell is wanted, of kMostRare, by the half of the seeds that have
// only rare ones: many operations do not live to see the phase, or are in it
// for a moment.
uint64_t Rarity(const Cell& cell) {
  const bool again = NeedsRestarts(cell.fault);
  switch (cell.phase) {
    case Phase::kConnected:
      return 6;
    case Phase::kConnectResolving:
      return again || cell.fault == Fault::kLie ? 2 : 5;
    case Phase::kDisconnectReporting:
      return again ? 3 : 6;
    case Phase::kDisconnectGathering:
    case Phase::kDisconnectReleasing:
      return again ? 3 : 4;
    case Phase::kAbortEnding:
      return again ? 8 : 6;
    case Phase::kAbortAnswering:
      return again ? 3 : 5;
    case Phase::kAbortRequested:
      return again ? 1 : 2;
    case Phase::kLookupPulling:
      return again ? 8 : 2;
    case Phase::kSpawnRequested:
      return again ? 2 : 0;
    case Phase::kSpawnExecuting:
    case Phase::kSpawnAnswering:
      return again ? 4 : 0;
    case Phase::kConnectReporting:
    case Phase::kConnectReleasing:
    case Phase::kLookupClaiming:
    case Phase::kUnpublishRemoving:
      return again ? 1 : 3;
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
    default:
      return 0;
  }
}

// One to three ranks.
void AddSome(std::mt19937_64& rng, const JobSpec& spec,
             std::set<ProcId>* procs) {
  for (uint64_t count = 1 + rng() % 3; count > 0; --count) {
    procs->insert({spec.nspace, static_cast<Rank>(rng() % spec.procs.size())});
  }
}

constexpr Phase kFirstPhases[] = {
    Phase::kSpawnRequested, Phase::kConnectResolving, Phase::kPublishOffering,
    Phase::kAbortRequested};

}  // namespace

std::string OnceKey(const std::string& nspace, const std::string& number) {
  return nspace + "." + number + ".once";
}

std::string ContestKey(const std::string& nspace, const std::string& number) {
  return nspace + "." + number + ".contest";
}

void AddMeetings(std::mt19937_64& rng,
                 const std::vector<std::unique_ptr<PlannedJob>>& jobs) {
  constexpr uint32_t kFirstNumber = 100;  // no other connect has it
  std::vector<size_t> at(jobs.size(), 0);
  const uint64_t count = 1 + rng() % 3;
  for (uint32_t number = 0; number < count; ++number) {
    std::set<ProcId> procs;
    for (const auto& job : jobs) AddSome(rng, job->spec, &procs);
    const std::vector<ProcId> some(procs.begin(), procs.end());
    for (size_t i = 0; i < jobs.size(); ++i) {
      auto& script = jobs[i]->script;
      at[i] += rng() % (script.size() - at[i] + 1);
      script.insert(script.begin() + static_cast<ptrdiff_t>(at[i]++),
                    {Op::Kind::kConnect, kFirstNumber + number, some});
    }
  }
  for (const auto& job : jobs) {
    for (const auto& other : jobs) {
      if (other != job) job->partners.insert(other.get());
    }
  }
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

std::vector<Cell> MakeAims(std::mt19937_64& rng, bool restarts, bool rejoins) {
  // Names have most operations and take most time.
  constexpr Engine kEngines[] = {
      Engine::kSpawn,   Engine::kSpawn,   Engine::kSpawn,   Engine::kConnect,
      Engine::kConnect, Engine::kConnect, Engine::kConnect, Engine::kConnect,
      Engine::kConnect, Engine::kConnect, Engine::kNames,   Engine::kNames,
      Engine::kNames,   Engine::kNames,   Engine::kNames,   Engine::kAbort,
      Engine::kAbort,   Engine::kAbort,   Engine::kAbort,   Engine::kAbort,
      Engine::kAbort};
  const Engine engine = kEngines[rng() % std::size(kEngines)];
  const bool has_rare = restarts || engine != Engine::kSpawn;
  const bool only_rare = has_rare && rng() % 2 == 0;
  std::vector<Cell> aims;
  while (aims.size() < kNumAims) {
    const Cell cell{static_cast<Phase>(rng() % kNumPhases),
                    static_cast<Fault>(rng() % kNumFaults)};
    const bool possible =
        WhyNever(cell).empty() &&
        (restarts ? !NeedsLosses(cell.fault) : !NeedsRestarts(cell.fault)) &&
        (rejoins || cell.fault != Fault::kLinkLost);
    // What only these seeds can have comes first; and so do short phases.
    const bool rare = !restarts || NeedsRestarts(cell.fault) || rng() % 10 == 0;
    const bool wanted = only_rare ? rng() % kMostRare < Rarity(cell)
                                  : IsShort(cell.phase) || rng() % 3 == 0;
    const bool another = std::ranges::count(aims, cell) == 0;
    if (EngineOf(cell.phase) == engine && possible && rare && wanted &&
        another) {
      aims.push_back(cell);
    }
  }
  return aims;
}

}  // namespace canopy::sim
