// Measures the cost of PMIX_QUERY_PROC_TABLE for a large job: the steps of all
// agents of 4,096 simulated ranks, one after the other, and the encoding.
#include <benchmark/benchmark.h>

#include <cstdlib>

#include "common/status.h"
#include "pmix_common.h"
#include "server/core/query/query_testing.h"
#include "tests/sim/cluster.h"

namespace canopy::sim {
namespace {

constexpr uint32_t kRanks = 4096;
constexpr uint32_t kRadix = 32;

// Measures one query; the argument is the number of nodes.
void ProcessTable(benchmark::State& state) {
  const auto nodes = static_cast<uint32_t>(state.range(0));
  Cluster cluster(nodes, kRadix, 1, Persistence::kOff);
  cluster.LaunchConnected(MakeJob("job", nodes, kRanks / nodes));
  for (auto _ : state) {
    const auto request = cluster.clients().Query(
        {"job", 0}, core::Encoded({{{PMIX_QUERY_PROC_TABLE}}}));
    cluster.Run();
    if (cluster.clients().StatusOf(request) != kSuccess) abort();
  }
}
BENCHMARK(ProcessTable)
    ->Arg(4)
    ->Arg(64)
    ->Arg(1024)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace canopy::sim
