// Measures a step of the core on the hot paths: a fence on one node, one hop of
// a fence between nodes, and a commit.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "common/codec/encoder.h"
#include "server/core/agent_core.h"
#include "server/core/core_testing.h"

namespace canopy::core {
namespace {

CoreConfig Config(uint32_t nodes, NodeId self) {
  CoreConfig config;
  config.self = self;
  config.node_names.resize(nodes, "node");
  return config;
}

// Returns a core with a job whose local rank r is connected as client r + 1.
std::unique_ptr<AgentCore> CoreWith(const CoreConfig& config,
                                    const std::vector<NodeId>& agents) {
  auto core = std::make_unique<AgentCore>(config);
  const auto job = JobOn("job", agents);
  if (config.self == 0) {
    core->Step(0, LaunchRequested{job});
  } else {
    const JobPrepare prepare{Bytes(EncodeJobSpec(*job)), 0, {}};
    core->Step(0, PeerArrived{{0, config.self, prepare}});
  }
  for (Rank r = 0; r < agents.size(); ++r) {
    if (agents[r] != config.self) continue;
    core->Step(0, ClientConnected{r + 1, {"job", r}});
  }
  return core;
}

// Measures fences on one node. Items are fences; the argument is the number of
// local ranks.
void LocalFence(benchmark::State& state) {
  const auto ranks = static_cast<Rank>(state.range(0));
  const auto core = CoreWith(Config(2, 0), std::vector<NodeId>(ranks, 0));
  size_t replies = 0;
  for (auto _ : state) {
    for (Rank r = 0; r < ranks; ++r) {
      CollectiveArrived in;
      in.client = r + 1;
      in.request = 1;
      replies = core->Step(0, in).size();
    }
    if (replies != ranks) abort();
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(LocalFence)->Arg(8)->Arg(64)->Arg(128);

// Measures fences as LocalFence does, but with all ranks waiting in the barrier
// of their job.
void BarrierFence(benchmark::State& state) {
  const auto ranks = static_cast<Rank>(state.range(0));
  const auto core = CoreWith(Config(2, 0), std::vector<NodeId>(ranks, 0));
  LocalFenceArrived in;
  for (Rank r = 0; r < ranks; ++r) in.clients.push_back(r + 1);
  for (auto _ : state) {
    if (core->Step(0, in).size() != 1) abort();
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BarrierFence)->Arg(8)->Arg(64)->Arg(128);

// Measures the ends of processes. Items are processes that end normally, while
// no client is registered for such events; the argument is the number of
// processes of a node that end at the same time. The only message goes to the
// job's controller.
void LocalEnds(benchmark::State& state) {
  const auto ranks = static_cast<Rank>(state.range(0));
  std::vector<NodeId> agents(ranks, 1);
  agents.push_back(0);
  LocalExits ends{"job", {}, true};
  for (Rank r = 0; r < ranks; ++r)
    ends.exits.push_back({r, 0, false, true, true});
  for (auto _ : state) {
    state.PauseTiming();
    const auto core = CoreWith(Config(2, 1), agents);
    state.ResumeTiming();
    const Actions actions = core->Step(0, ends);
    if (!Sent<EventMessage>(actions).empty()) abort();
    state.PauseTiming();
    benchmark::DoNotOptimize(actions.size());
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * ranks);
}
BENCHMARK(LocalEnds)->Arg(8)->Arg(128);

// Measures an agent between 32 children and its parent, with one rank on each
// node and no data. Items are incoming messages.
void TreeHop(benchmark::State& state) {
  constexpr uint32_t kNodes = 1000;
  constexpr NodeId kSelf = 1;  // children 33 .. 64
  std::vector<NodeId> agents;
  for (NodeId n = 0; n < kNodes; ++n) agents.push_back(n);
  const auto core = CoreWith(Config(kNodes, kSelf), agents);
  CollectiveId id{CollectiveOp::kFence, {{"job", kRankWildcard}}, 0};
  uint64_t messages = 0;
  for (auto _ : state) {
    CollectiveArrived own;
    own.client = kSelf + 1;
    own.request = 1;
    core->Step(0, own);
    size_t sent = 0;
    for (NodeId child = 33; child <= 64; ++child) {
      const CollectiveUp up{id, 0, {{child, {}}}, {}};
      sent = core->Step(0, PeerArrived{{child, kSelf, up}}).size();
    }
    const CollectiveDown down{id, 0, {}, {}};
    const size_t released = core->Step(0, PeerArrived{{0, kSelf, down}}).size();
    if (sent != 1 || released != 33) abort();
    ++id.sequence;
    messages += 33;
  }
  state.SetItemsProcessed(static_cast<int64_t>(messages));
}
BENCHMARK(TreeHop);

// Measures a commit of one key with a value of 64 bytes, by a rank that has
// committed `range` such keys.
void Commit(benchmark::State& state) {
  const auto core = CoreWith(Config(1, 0), {0});
  const auto kval = [](int64_t i) {
    Encoder encoder;
    encoder.PutString("key." + std::to_string(i));
    encoder.PutUint16(PMIX_STRING);
    encoder.PutString(std::string(64, 'x'));
    return Bytes(encoder.Take());
  };
  for (int64_t i = 0; i < state.range(0); ++i) {
    core->Step(0, Committed{1, 0, {{Scope::kGlobal, kval(i)}}});
  }
  const Bytes last = kval(0);
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        core->Step(0, Committed{1, 0, {{Scope::kGlobal, last}}}));
  }
}
BENCHMARK(Commit)->Arg(1)->Arg(16);

}  // namespace
}  // namespace canopy::core

BENCHMARK_MAIN();
