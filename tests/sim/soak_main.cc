// Runs many seeds of the simulation; a seed that fails is printed with what
// was done to its cluster. With --restarts agents are restarted, and none is
// lost. With --matrix one seed in three does so, and the end is a table: how
// many seeds had each fault in each phase of an operation; a cell that too few
// had is a failure. A seed that failed with --matrix is replayed with --matrix.
// With --matrix there are seeds of host_soak.h too, one for five, with a table
// of their own; with --host these alone; with --tools those of tool_soak.h, and
// their table with --matrix. Usage: soak [--first N] [--seeds N]
// [--min-nodes N] [--nodes MAX] [--radix R]
//        [--no-rejoins] [--restarts] [--matrix] [--host]
//        [--tools] [--verbose] [--trace]
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "tests/sim/fault_matrix.h"
#include "tests/sim/host_soak.h"
#include "tests/sim/soak.h"
#include "tests/sim/tool_soak.h"

namespace canopy::sim {
namespace {

struct Arguments {
  SoakOptions options;
  uint64_t first = 0;
  uint64_t seeds = 10'000;
  bool matrix = false;
  bool host = false;
  bool tools = false;

  // Only seeds of a kind of their own.
  bool special() const { return host || tools; }
};

// Of so many seeds, each cell that can occur has had so many.
constexpr uint64_t kSeedsOfMatrix = 10'000;
constexpr uint64_t kFewest = 50;
// So many of these seeds are one of the host's, of which each cell has had one
// in so many; and of the tools'.
constexpr uint64_t kSeedsOfHost = 5;
constexpr uint64_t kHostCells = 200;
constexpr uint64_t kToolCells = 1000;

struct Totals {
  uint64_t steps = 0;
  uint64_t faults = 0;
  uint64_t failed = 0;
  FaultMatrix all;
  std::map<uint32_t, FaultMatrix> by_radix;
  HostMatrix host;
  ToolMatrix tools;
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

bool Parse(int argc, char** argv, Arguments* out) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    out->matrix |= name == "--matrix";
    out->host |= name == "--host";
    out->tools |= name == "--tools";
    if (name == "--matrix" || name == "--host" || name == "--tools") continue;
    if (SetFlag(name, &out->options)) continue;
    const uint64_t value = i + 1 < argc ? strtoull(argv[++i], nullptr, 10) : 0;
    if (SetNumber(name, value, out)) continue;
    fprintf(stderr, "soak: no option %s\n", name.c_str());
    return false;
  }
  return true;
}

template <typename Result>
void PrintFailure(const std::string& what, const Result& result) {
  constexpr size_t kMaxErrors = 8;
  printf("FAILED %s\n", what.c_str());
  for (const std::string& fault : result.faults) {
    printf("  fault: %s\n", fault.c_str());
  }
  for (size_t i = 0; i < result.errors.size() && i < kMaxErrors; ++i) {
    printf("  %s\n", result.errors[i].c_str());
  }
  fflush(stdout);
}

void RunSeed(uint64_t seed, const Arguments& arguments, Totals* totals) {
  SoakOptions options = arguments.options;
  if (arguments.matrix) options.restarts = seed % 3 == 1;
  const SoakResult result = RunSoak(seed, options);
  totals->steps += result.steps;
  totals->faults += result.faults.size();
  totals->all.Add(result.cells);
  totals->by_radix[result.radix].Add(result.cells);
  if (result.errors.empty()) return;
  ++totals->failed;
  PrintFailure("seed " + std::to_string(seed) + ": " +
                   std::to_string(result.nodes) + " nodes, radix " +
                   std::to_string(result.radix),
               result);
}

void RunHostSeed(uint64_t seed, const Arguments& arguments, Totals* totals) {
  HostSoakOptions options;
  options.verbose = arguments.options.verbose;
  options.trace = arguments.options.trace;
  const HostSoakResult result = RunHostSoak(seed, options);
  totals->steps += result.steps;
  totals->faults += result.faults.size();
  totals->host.Add(result.cells);
  if (result.errors.empty()) return;
  ++totals->failed;
  PrintFailure("seed " + std::to_string(seed) +
                   " of --host: " + std::to_string(result.nodes) + " nodes",
               result);
}

void RunToolSeed(uint64_t seed, const Arguments& arguments, Totals* totals) {
  ToolSoakOptions options;
  options.verbose = arguments.options.verbose;
  options.trace = arguments.options.trace;
  const ToolSoakResult result = RunToolSoak(seed, options);
  totals->steps += result.steps;
  totals->faults += result.faults.size();
  totals->tools.Add(result.cells);
  if (result.errors.empty()) return;
  ++totals->failed;
  PrintFailure("seed " + std::to_string(seed) +
                   " of --tools: " + std::to_string(result.nodes) + " nodes",
               result);
}

// How many cells fewer seeds have had.
template <typename Matrix>
size_t PrintKind(const char* kind, const Matrix& matrix, uint64_t seeds) {
  printf("%s:\n%s", kind, matrix.Text().c_str());
  const size_t below = matrix.NumBelow(seeds);
  if (below > 0) printf("%zu cells of %s have too few seeds\n", below, kind);
  return below;
}

// How many cells too few seeds have had.
size_t PrintMatrix(const Totals& totals, uint64_t seeds) {
  for (const auto& [radix, matrix] : totals.by_radix) {
    printf("radix %u:\n%s", radix, matrix.Text(false).c_str());
  }
  printf("all:\n%s", totals.all.Text(true).c_str());
  const size_t below = totals.all.NumBelow(kFewest * seeds / kSeedsOfMatrix);
  if (below > 0) printf("%zu cells have too few seeds\n", below);
  return below;
}

uint64_t SeedsOfHost(const Arguments& arguments) {
  if (arguments.host) return arguments.seeds;
  const bool beside = arguments.matrix && !arguments.special();
  return beside ? arguments.seeds / kSeedsOfHost : 0;
}

void RunSeeds(const Arguments& arguments, Totals* totals) {
  const uint64_t seeds = arguments.special() ? 0 : arguments.seeds;
  const uint64_t host = SeedsOfHost(arguments);
  const uint64_t tools = arguments.tools ? arguments.seeds : 0;
  for (uint64_t i = 0; i < seeds; ++i) {
    RunSeed(arguments.first + i, arguments, totals);
  }
  for (uint64_t i = 0; i < host; ++i) {
    RunHostSeed(arguments.first + i, arguments, totals);
  }
  for (uint64_t i = 0; i < tools; ++i) {
    RunToolSeed(arguments.first + i, arguments, totals);
  }
}

size_t PrintMatrices(const Arguments& arguments, const Totals& totals) {
  size_t below = 0;
  if (!arguments.special()) below += PrintMatrix(totals, arguments.seeds);
  const uint64_t host = SeedsOfHost(arguments);
  if (host > 0) below += PrintKind("host", totals.host, host / kHostCells);
  const uint64_t tools = arguments.tools ? arguments.seeds : 0;
  if (tools > 0) below += PrintKind("tools", totals.tools, tools / kToolCells);
  return below;
}

}  // namespace
}  // namespace canopy::sim

int main(int argc, char** argv) {
  canopy::sim::Arguments arguments;
  if (!canopy::sim::Parse(argc, argv, &arguments)) return 2;
  canopy::sim::Totals totals;
  canopy::sim::RunSeeds(arguments, &totals);
  const size_t below =
      arguments.matrix ? canopy::sim::PrintMatrices(arguments, totals) : 0;
  printf("%llu seeds, %llu steps, %llu faults, %llu failed\n",
         static_cast<unsigned long long>(arguments.seeds),
         static_cast<unsigned long long>(totals.steps),
         static_cast<unsigned long long>(totals.faults),
         static_cast<unsigned long long>(totals.failed));
  return totals.failed == 0 && below == 0 ? 0 : 1;
}
