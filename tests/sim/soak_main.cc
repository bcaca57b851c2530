// Runs many seeds of the simulation. A seed that fails is printed with the
// faults of its run. With --restarts, agents are restarted and none is lost.
// With --matrix, this holds for one seed in three, a seed with members that are
// removed follows each seed, and a table at the end shows in how many seeds
// each fault occurred in each phase of an operation; a cell with too few seeds
// is a failure. A seed that failed with --matrix must be replayed with
// --matrix. With --matrix, seeds of the host (host_soak.h), of tools
// (tool_soak.h) and of members (member_soak.h) run as well, one for a number of
// other seeds; they have tables of their own. With --host, --tools or
// --members, only such seeds run, and --matrix prints their table.
//
// Usage: soak [--first N] [--seeds N] [--min-nodes N] [--nodes MAX] [--radix R]
//        [--no-rejoins] [--restarts] [--matrix] [--host] [--tools] [--members]
//        [--verbose] [--trace]
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/fault_matrix.h"
#include "tests/sim/host_soak.h"
#include "tests/sim/member_soak.h"
#include "tests/sim/seed_table.h"
#include "tests/sim/soak.h"
#include "tests/sim/tool_soak.h"

namespace canopy::sim {
namespace {

// The result of a seed of any kind.
struct Ran {
  uint64_t steps = 0;
  uint32_t nodes = 0;
  std::vector<std::string> faults;
  std::vector<std::string> errors;
  SeedCells cells;
};

template <typename Result>
Ran ToRan(Result&& result) {
  return {result.steps, result.nodes, std::move(result.faults),
          std::move(result.errors), std::move(result.cells)};
}

// A kind of seeds with its own run and table.
struct Kind {
  std::string name;  // its option is this name after two hyphens
  // With --matrix, one seed of this kind runs for every `share` other seeds.
  uint64_t share = 1;
  // Each cell must occur in one seed of every `rarest` seeds of this kind.
  uint64_t rarest = 1;
  std::function<Ran(uint64_t seed, const SoakOptions& options)> run;
  SeedTable table;
  bool chosen = false;
  uint64_t seeds = 0;  // number of seeds to run
};

template <typename Options>
Options OptionsOf(const SoakOptions& all) {
  Options options;
  options.verbose = all.verbose;
  options.trace = all.trace;
  return options;
}

std::vector<Kind> Kinds() {
  return {{"host", 5, 200,
           [](uint64_t seed, const SoakOptions& all) {
             return ToRan(RunHostSoak(seed, OptionsOf<HostSoakOptions>(all)));
           },
           HostTable()},
          {"tools", 2, 1000,
           [](uint64_t seed, const SoakOptions& all) {
             return ToRan(RunToolSoak(seed, OptionsOf<ToolSoakOptions>(all)));
           },
           ToolTable()},
          {"members", 50, 20,
           [](uint64_t seed, const SoakOptions& all) {
             auto options = OptionsOf<MemberSoakOptions>(all);
             options.radix = all.radix;
             return ToRan(RunMemberSoak(seed, options));
           },
           MemberTable()}};
}

struct Arguments {
  SoakOptions options;
  uint64_t first = 0;
  uint64_t seeds = 10'000;
  bool matrix = false;
  // Only seeds of a special kind run.
  bool special = false;
};

// In kSeedsOfMatrix seeds, each possible cell must occur in kFewest.
constexpr uint64_t kSeedsOfMatrix = 10'000;
constexpr uint64_t kFewest = 50;
// With --matrix, a seed in which members are removed (soak.cc) follows each
// seed.
constexpr uint64_t kMemberSeeds = 1'000'000;

struct Totals {
  uint64_t seeds = 0;
  uint64_t steps = 0;
  uint64_t faults = 0;
  uint64_t failed = 0;
  SeedTable all = FaultTable();
  std::map<uint32_t, SeedTable> by_radix;
};

bool SetFlag(const std::string& name, SoakOptions* options) {
  if (name == "--verbose") {
    options->verbose = true;
  } else if (name == "--no-rejoins") {
    options->rejoins = false;
  } else if (name == "--restarts") {
    options->restarts = true;
  } else if (name == "--trace") {
    options->trace = options->verbose = true;
  } else {
    return false;
  }
  return true;
}

bool SetNumber(const std::string& name, uint64_t value, Arguments* out) {
  if (name == "--first") {
    out->first = value;
  } else if (name == "--seeds") {
    out->seeds = value;
  } else if (name == "--nodes") {
    out->options.max_nodes = static_cast<uint32_t>(value);
  } else if (name == "--min-nodes") {
    out->options.min_nodes = static_cast<uint32_t>(value);
  } else if (name == "--radix") {
    out->options.radix = static_cast<uint32_t>(value);
  } else {
    return false;
  }
  return true;
}

// Chooses the kind of seeds.
bool Choose(const std::string& name, Arguments* out, std::vector<Kind>* kinds) {
  const bool is_matrix = name == "--matrix";
  out->matrix |= is_matrix;
  for (Kind& kind : *kinds) {
    if (name != "--" + kind.name) continue;
    out->special = kind.chosen = true;
    return true;
  }
  return is_matrix;
}

bool Parse(int argc, char** argv, Arguments* out, std::vector<Kind>* kinds) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (Choose(name, out, kinds) || SetFlag(name, &out->options)) continue;
    const uint64_t value = i + 1 < argc ? strtoull(argv[++i], nullptr, 10) : 0;
    if (SetNumber(name, value, out)) continue;
    fprintf(stderr, "soak: no option %s\n", name.c_str());
    return false;
  }
  return true;
}

void PrintFailure(const std::string& what, const Ran& ran) {
  constexpr size_t kMaxErrors = 8;
  printf("FAILED %s\n", what.c_str());
  for (const std::string& fault : ran.faults) {
    printf("  fault: %s\n", fault.c_str());
  }
  for (size_t i = 0; i < ran.errors.size() && i < kMaxErrors; ++i) {
    printf("  %s\n", ran.errors[i].c_str());
  }
  fflush(stdout);
}

void Note(const std::string& what, const Ran& ran, Totals* totals) {
  ++totals->seeds;
  totals->steps += ran.steps;
  totals->faults += ran.faults.size();
  if (ran.errors.empty()) return;
  ++totals->failed;
  PrintFailure(what + ": " + std::to_string(ran.nodes) + " nodes", ran);
}

void RunSeed(uint64_t seed, const Arguments& arguments, Totals* totals) {
  SoakOptions options = arguments.options;
  if (arguments.matrix) options.restarts = seed % 3 == 1;
  SoakResult result = RunSoak(seed, options);
  const uint32_t radix = result.radix;
  const Ran ran = ToRan(std::move(result));
  totals->all.Add(ran.cells);
  totals->by_radix.try_emplace(radix, FaultTable())
      .first->second.Add(ran.cells);
  Note("seed " + std::to_string(seed) + ", radix " + std::to_string(radix), ran,
       totals);
}

void RunKind(const Arguments& arguments, Kind* kind, Totals* totals) {
  if (kind->chosen) kind->seeds = arguments.seeds;
  if (!arguments.special && arguments.matrix) {
    kind->seeds = arguments.seeds / kind->share;
  }
  for (uint64_t i = 0; i < kind->seeds; ++i) {
    const uint64_t seed = arguments.first + i;
    const Ran ran = kind->run(seed, arguments.options);
    kind->table.Add(ran.cells);
    Note("seed " + std::to_string(seed) + " of --" + kind->name, ran, totals);
  }
}

// Returns how many cells occurred in fewer than `fewest` seeds.
size_t PrintTable(const std::string& name, const SeedTable& table,
                  uint64_t fewest) {
  printf("%s:\n%s", name.c_str(), table.Text(true).c_str());
  const size_t below = table.NumBelow(fewest);
  if (below > 0) {
    printf("%zu cells of %s have too few seeds\n", below, name.c_str());
  }
  return below;
}

size_t PrintTables(const Arguments& arguments, const Totals& totals,
                   const std::vector<Kind>& kinds) {
  size_t below = 0;
  if (!arguments.special) {
    for (const auto& [radix, table] : totals.by_radix) {
      printf("radix %u:\n%s", radix, table.Text(false).c_str());
    }
    below += PrintTable("all", totals.all,
                        kFewest * arguments.seeds / kSeedsOfMatrix);
  }
  for (const Kind& kind : kinds) {
    if (kind.seeds == 0) continue;
    below += PrintTable(kind.name, kind.table, kind.seeds / kind.rarest);
  }
  return below;
}

int Main(int argc, char** argv) {
  Arguments arguments;
  std::vector<Kind> kinds = Kinds();
  if (!Parse(argc, argv, &arguments, &kinds)) return 2;
  Totals totals;
  for (uint64_t i = 0; !arguments.special && i < arguments.seeds; ++i) {
    RunSeed(arguments.first + i, arguments, &totals);
    if (!arguments.matrix) continue;
    RunSeed(kMemberSeeds + arguments.first + i, arguments, &totals);
  }
  for (Kind& kind : kinds) RunKind(arguments, &kind, &totals);
  const size_t below =
      arguments.matrix ? PrintTables(arguments, totals, kinds) : 0;
  printf("%llu seeds, %llu steps, %llu faults, %llu failed\n",
         static_cast<unsigned long long>(totals.seeds),
         static_cast<unsigned long long>(totals.steps),
         static_cast<unsigned long long>(totals.faults),
         static_cast<unsigned long long>(totals.failed));
  return totals.failed == 0 && below == 0 ? 0 : 1;
}

}  // namespace
}  // namespace canopy::sim

int main(int argc, char** argv) { return canopy::sim::Main(argc, argv); }
