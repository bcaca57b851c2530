// Measures the cost of answering "not there" after a change of members: for the
// owner of a key, and for each member from which the owner pulls.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>
#include <variant>
#include <vector>

#include "common/ids.h"
#include "server/core/core_testing.h"
#include "server/core/job_table.h"
#include "server/core/publish/publishing.h"
#include "server/core/publish/publishing_testing.h"
#include "server/core/publish/rendezvous.h"
#include "server/core/tree.h"

namespace canopy::core {
namespace {

constexpr uint32_t kRadix = 32;

DirectoryLookup AbsentKey(uint64_t number) {
  DirectoryLookup lookup;
  lookup.request = number;
  lookup.searcher.proc = {"job", 0};
  lookup.searcher.range = PMIX_RANGE_SESSION;
  lookup.keys = {{"absent", 0}};
  return lookup;
}

std::vector<DirectoryPull> PullsIn(const Actions& actions,
                                   std::vector<NodeId>* to) {
  std::vector<DirectoryPull> out;
  for (const auto& [node, pull] : Sent<DirectoryPull>(actions)) {
    to->push_back(node);
    out.push_back(pull);
  }
  return out;
}

// Measures the owner of a key, with the given number of members: it sends a
// request to each member and receives all answers. With `voided`, a change of
// members comes before the answers.
void Pull(benchmark::State& state, bool voided) {
  const auto members = static_cast<uint32_t>(state.range(0));
  const Tree tree(members, kRadix);
  const JobTable jobs(0);
  Publishing owner(0, tree, jobs);
  uint64_t number = 0;
  for (auto _ : state) {
    Actions actions;
    owner.OnNodeReturned({0, actions});
    owner.OnPeer({0, actions}, {1, 0, AbsentKey(++number)});
    if (voided) {
      actions.clear();
      owner.OnNodeReturned({0, actions});
    }
    std::vector<NodeId> to;
    const std::vector<DirectoryPull> pulls = PullsIn(actions, &to);
    if (pulls.size() + 1 != members) abort();
    Actions answers;
    for (size_t i = 0; i < pulls.size(); ++i) {
      owner.OnPeer({0, answers},
                   {to[i], 0, DirectoryAnswer{pulls[i].request, 0}});
    }
    if (Sent<DirectoryFound>(answers).size() != 1) abort();
  }
  state.SetItemsProcessed(state.iterations() * members);
}
BENCHMARK_CAPTURE(Pull, Whole, false)->Arg(100)->Arg(1000)->Arg(10000);
BENCHMARK_CAPTURE(Pull, Voided, true)->Arg(100)->Arg(1000)->Arg(10000);

// Measures the computation of the owner, which each publish and lookup makes.
void FindOwner(benchmark::State& state) {
  const Tree tree(static_cast<uint32_t>(state.range(0)), kRadix);
  for (auto _ : state) {
    benchmark::DoNotOptimize(HomesOf("a key of some length", tree));
  }
}
BENCHMARK(FindOwner)->Arg(100)->Arg(1000)->Arg(10000);

// Measures a member that has published 1000 keys and gets a pull.
void BePulled(benchmark::State& state) {
  constexpr int kKeys = 1000;
  const auto members = static_cast<uint32_t>(state.range(0));
  const Tree tree(members, kRadix);
  JobTable jobs(0);
  jobs.Add(JobOn("job", {0}));
  jobs.Connect(1, {"job", 0});
  Publishing steward(0, tree, jobs);
  Infos infos;
  for (int i = 0; i < kKeys; ++i)
    infos.Text("key" + std::to_string(i), "value");
  Actions actions;
  steward.OnPublish({0, actions}, {1, 1, infos.Take()});
  for (const auto& [to, store] : Sent<DirectoryStore>(actions)) {
    Actions ignored;
    steward.OnPeer({0, ignored}, {to, 0, DirectoryAnswer{store.request, 0}});
  }
  for (auto _ : state) {
    Actions answers;
    steward.OnPeer({0, answers}, {members - 1, 0, DirectoryPull{1}});
    benchmark::DoNotOptimize(answers);
    for (const auto& [to, store] : Sent<DirectoryStore>(answers)) {
      Actions ignored;
      steward.OnPeer({0, ignored}, {to, 0, DirectoryAnswer{store.request, 0}});
    }
  }
}
BENCHMARK(BePulled)->Arg(100)->Arg(1000)->Arg(10000);

}  // namespace
}  // namespace canopy::core
