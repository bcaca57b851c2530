// Measures the start of processes through the adapter and its shim, from
// Prepare to the last exit, and compares it with a bare posix_spawn loop.
#include <benchmark/benchmark.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "common/event_loop.h"
#include "server/core/step/process_actions.h"
#include "server/ports/input_sink.h"
#include "server/ports/process_environment.h"
#include "server/process/process_adapter.h"

extern char** environ;

namespace canopy::process {
namespace {

class Counter : public InputSink {
 public:
  void OnInput(core::Input input) override {
    if (auto* p = std::get_if<core::LocalPrepared>(&input)) {
      prepared = true;
      failed |= p->status != 0;
    } else if (auto* s = std::get_if<core::LocalStarted>(&input)) {
      started = true;
      failed |= s->status != 0;
    } else if (auto* e = std::get_if<core::LocalExits>(&input)) {
      exits += e->exits.size();
    }
  }
  bool prepared = false;
  bool started = false;
  bool failed = false;
  size_t exits = 0;
};

class Bench {
 public:
  Bench() {
    std::string pattern =
        std::filesystem::temp_directory_path() / "launchXXXXXX";
    options_.runtime_dir = mkdtemp(pattern.data());
    options_.shim_path = std::filesystem::absolute("server/shim/canopy-shim");
    options_.orphan_ms = 0;
    adapter_ = std::make_unique<ProcessAdapter>(&loop_, &sink_, options_);
  }
  ~Bench() {
    adapter_.reset();
    std::filesystem::remove(options_.runtime_dir);
  }

  static core::PrepareLocal TrueJob(size_t n) {
    auto job = std::make_shared<JobSpec>();
    job->nspace = "bench";
    job->uid = getuid();
    job->gid = getgid();
    job->nodes.push_back({"here", {}, 0, 0});
    job->apps.push_back(
        {"/bin/true", {"true"}, {}, "", static_cast<uint32_t>(n)});
    job->procs.resize(n);
    for (int i = 0; i < 60; ++i) {
      job->env.push_back("VARIABLE_" + std::to_string(i) + "=some value");
    }
    return {job, std::make_shared<const JobLayout>(*job)};
  }

  void Prepare(size_t n) {
    sink_ = Counter();
    adapter_->Prepare(TrueJob(n));
    RunUntil([this] { return sink_.prepared; });
  }
  void StartAndWait(size_t n) {
    adapter_->Start({"bench"});
    RunUntil([&] { return sink_.exits == n; });
  }
  void Forget() {
    adapter_->Forget("bench");
    RunUntil([this] { return adapter_->ending() == 0; });
  }
  bool failed() const { return sink_.failed; }

 private:
  template <typename Condition>
  void RunUntil(Condition condition) {
    while (!condition() && !sink_.failed) loop_.RunOnce(1000);
  }

  EventLoop loop_;
  Counter sink_;
  ProcessOptions options_;
  std::unique_ptr<ProcessAdapter> adapter_;
};

// Measures the whole cost of a job of n processes on one node.
void BM_WholeJob(benchmark::State& state) {
  const auto n = static_cast<size_t>(state.range(0));
  Bench bench;
  for (auto _ : state) {
    bench.Prepare(n);
    bench.StartAndWait(n);
    bench.Forget();
    if (bench.failed()) state.SkipWithError("launch failed");
  }
}
BENCHMARK(BM_WholeJob)
    ->Arg(1)
    ->Arg(256)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// Measures the time from Start to the last exit. BM_PosixSpawnLoop measures the
// same for processes that are started by posix_spawn.
void BM_StartToExit(benchmark::State& state) {
  const auto n = static_cast<size_t>(state.range(0));
  Bench bench;
  for (auto _ : state) {
    state.PauseTiming();
    bench.Prepare(n);
    state.ResumeTiming();
    bench.StartAndWait(n);
    state.PauseTiming();
    bench.Forget();
    state.ResumeTiming();
    if (bench.failed()) state.SkipWithError("launch failed");
  }
}
BENCHMARK(BM_StartToExit)
    ->Arg(1)
    ->Arg(256)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// Measures for how long the start of a shim blocks the event loop.
void BM_PrepareCall(benchmark::State& state) {
  Bench bench;
  for (auto _ : state) {
    bench.Prepare(1);
    state.PauseTiming();
    bench.StartAndWait(1);
    bench.Forget();
    state.ResumeTiming();
  }
}
BENCHMARK(BM_PrepareCall)->UseRealTime()->Unit(benchmark::kMillisecond);

void BM_PosixSpawnLoop(benchmark::State& state) {
  char name[] = "/bin/true";
  char* const argv[] = {name, nullptr};
  for (auto _ : state) {
    for (int64_t i = 0; i < state.range(0); ++i) {
      pid_t pid;
      if (posix_spawn(&pid, name, nullptr, nullptr, argv, environ) != 0) {
        state.SkipWithError("posix_spawn failed");
      }
    }
    while (waitpid(-1, nullptr, 0) > 0) {
    }
  }
}
BENCHMARK(BM_PosixSpawnLoop)
    ->Arg(1)
    ->Arg(256)
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace canopy::process
