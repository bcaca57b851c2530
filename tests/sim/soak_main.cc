// Runs many seeds of the simulation; a seed that fails is printed with what
// was done to its cluster. With --restarts agents are restarted, and none is
// lost.
// Usage: soak [--first N] [--seeds N] [--min-nodes N] [--nodes MAX] [--radix R]
//        [--no-rejoins] [--restarts] [--verbose] [--trace]
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/sim/soak.h"

int main(int argc, char** argv) {
  canopy::sim::SoakOptions options;
  uint64_t first = 0;
  uint64_t seeds = 10'000;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--verbose" || name == "--no-rejoins") {
      (name == "--verbose" ? options.verbose : options.rejoins) =
          name == "--verbose";
      continue;
    }
    if (name == "--restarts") {
      options.restarts = true;
      continue;
    }
    if (name == "--trace") {
      options.trace = options.verbose = true;
      continue;
    }
    const uint64_t value = i + 1 < argc ? strtoull(argv[++i], nullptr, 10) : 0;
    if (name == "--first") {
      first = value;
    } else if (name == "--seeds") {
      seeds = value;
    } else if (name == "--nodes") {
      options.max_nodes = static_cast<uint32_t>(value);
    } else if (name == "--min-nodes") {
      options.min_nodes = static_cast<uint32_t>(value);
    } else if (name == "--radix") {
      options.radix = static_cast<uint32_t>(value);
    } else {
      fprintf(stderr, "soak: no option %s\n", name.c_str());
      return 2;
    }
  }
  uint64_t steps = 0;
  uint64_t faults = 0;
  uint64_t failed = 0;
  for (uint64_t seed = first; seed < first + seeds; ++seed) {
    const auto result = canopy::sim::RunSoak(seed, options);
    steps += result.steps;
    faults += result.faults.size();
    if (result.errors.empty()) continue;
    ++failed;
    printf("FAILED seed %llu: %u nodes, radix %u\n",
           static_cast<unsigned long long>(seed), result.nodes, result.radix);
    for (const std::string& fault : result.faults) {
      printf("  fault: %s\n", fault.c_str());
    }
    for (size_t i = 0; i < result.errors.size() && i < 8; ++i) {
      printf("  %s\n", result.errors[i].c_str());
    }
    fflush(stdout);
  }
  printf("%llu seeds, %llu steps, %llu faults, %llu failed\n",
         static_cast<unsigned long long>(seeds),
         static_cast<unsigned long long>(steps),
         static_cast<unsigned long long>(faults),
         static_cast<unsigned long long>(failed));
  return failed == 0 ? 0 : 1;
}
