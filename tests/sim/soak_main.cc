// Runs many seeds of the simulation; a seed that fails is printed with what
// was done to its cluster. With --restarts agents are restarted, and none is
// lost.
// Usage: soak [--first N] [--seeds N] [--min-nodes N] [--nodes MAX] [--radix R]
//        [--no-rejoins] [--restarts] [--verbose] [--trace]
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/sim/soak.h"

namespace canopy::sim {
namespace {

struct Arguments {
  SoakOptions options;
  uint64_t first = 0;
  uint64_t seeds = 10'000;
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
    if (SetFlag(name, &out->options)) continue;
    const uint64_t value = i + 1 < argc ? strtoull(argv[++i], nullptr, 10) : 0;
    if (SetNumber(name, value, out)) continue;
    fprintf(stderr, "soak: no option %s\n", name.c_str());
    return false;
  }
  return true;
}

void PrintFailure(uint64_t seed, const SoakResult& result) {
  constexpr size_t kMaxErrors = 8;
  printf("FAILED seed %llu: %u nodes, radix %u\n",
         static_cast<unsigned long long>(seed), result.nodes, result.radix);
  for (const std::string& fault : result.faults) {
    printf("  fault: %s\n", fault.c_str());
  }
  for (size_t i = 0; i < result.errors.size() && i < kMaxErrors; ++i) {
    printf("  %s\n", result.errors[i].c_str());
  }
  fflush(stdout);
}

}  // namespace
}  // namespace canopy::sim

int main(int argc, char** argv) {
  canopy::sim::Arguments arguments;
  if (!canopy::sim::Parse(argc, argv, &arguments)) return 2;
  const uint64_t end = arguments.first + arguments.seeds;
  uint64_t steps = 0;
  uint64_t faults = 0;
  uint64_t failed = 0;
  for (uint64_t seed = arguments.first; seed < end; ++seed) {
    const auto result = canopy::sim::RunSoak(seed, arguments.options);
    steps += result.steps;
    faults += result.faults.size();
    if (result.errors.empty()) continue;
    ++failed;
    canopy::sim::PrintFailure(seed, result);
  }
  printf("%llu seeds, %llu steps, %llu faults, %llu failed\n",
         static_cast<unsigned long long>(arguments.seeds),
         static_cast<unsigned long long>(steps),
         static_cast<unsigned long long>(faults),
         static_cast<unsigned long long>(failed));
  return failed == 0 ? 0 : 1;
}
