// Measures PMIx_Get below the C API: one look-up in a mapped segment.
#include <benchmark/benchmark.h>

#include <string>

#include "common/shm/segment_reader.h"
#include "common/shm/segment_writer.h"

namespace canopy::shm {
namespace {

constexpr uint32_t kRanks = 1024;

struct Fixture {
  Fixture() {
    SegmentContents contents;
    contents.nspace = "job";
    contents.self_node = 0;
    contents.apps.resize(1);
    contents.nodes.push_back({"node0", {}, "\x03\x0cnode0", {}});
    contents.procs.resize(kRanks);
    for (int i = 0; i < 20; ++i) {
      contents.job.emplace_back("pmix.job" + std::to_string(i), "\x0e\x01");
    }
    SegmentLimits limits;
    limits.arena_bytes = 1 << 30;
    writer = std::move(SegmentWriter::Create(contents, limits).value());
    const std::string value(1024, 'v');
    for (Rank r = 0; r < kRanks; ++r) {
      (void)writer->Publish(r, {{"btl.tcp.4.1", value, 0},
                                {"btl.vader.4.1", value, 0},
                                {"pml.base.2.0", "x", 0},
                                {"bench.key", value, 0}});
    }
    reader =
        std::move(SegmentReader::Map(writer->fd(), writer->size()).value());
  }
  std::unique_ptr<SegmentWriter> writer;
  std::unique_ptr<SegmentReader> reader;
};

const Fixture& Get() {
  static const auto* fixture = new Fixture();
  return *fixture;
}

void BM_FindProcHit(benchmark::State& state) {
  const SegmentReader& reader = *Get().reader;
  Rank rank = 0;
  for (auto _ : state) {
    const Lookup lookup = reader.FindProc(rank, "bench.key");
    benchmark::DoNotOptimize(lookup.value().size());
    benchmark::DoNotOptimize(reader.StillValid(lookup));
    rank = (rank + 1) % kRanks;
  }
}
BENCHMARK(BM_FindProcHit);

void BM_FindProcMiss(benchmark::State& state) {
  const SegmentReader& reader = *Get().reader;
  Rank rank = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(reader.FindProc(rank, "no.such.key").state());
    rank = (rank + 1) % kRanks;
  }
}
BENCHMARK(BM_FindProcMiss);

void BM_FindProcReserved(benchmark::State& state) {
  const SegmentReader& reader = *Get().reader;
  Rank rank = 0;
  for (auto _ : state) {
    const Lookup lookup = reader.FindProc(rank, "pmix.lrank");
    benchmark::DoNotOptimize(lookup.value().size());
    rank = (rank + 1) % kRanks;
  }
}
BENCHMARK(BM_FindProcReserved);

void BM_FindJob(benchmark::State& state) {
  const SegmentReader& reader = *Get().reader;
  for (auto _ : state) benchmark::DoNotOptimize(reader.FindJob("pmix.job7"));
}
BENCHMARK(BM_FindJob);

void BM_Publish(benchmark::State& state) {
  SegmentWriter& writer = *Get().writer;
  const std::string value(1024, 'v');
  const std::vector<TableItem> items = {{"bench.key", value, 0}};
  for (auto _ : state) {
    benchmark::DoNotOptimize(writer.Publish(0, items).code());
  }
}
BENCHMARK(BM_Publish);

}  // namespace
}  // namespace canopy::shm
