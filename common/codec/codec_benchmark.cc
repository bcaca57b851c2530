// Measures the cost of writing and reading typical values.
#include <benchmark/benchmark.h>

#include <string>

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/values/info_list.h"
#include "common/values/value.h"

namespace canopy {
namespace {

Value Number() { return Value::Uint32(123456); }
Value Text() { return Value::String("node0123.cluster.example"); }
Value Bytes() { return Value::ByteObject(std::string(1024, 'x')); }
// Returns the data that a launcher provides about one process.
Value ProcRecord() {
  return Value::InfoArray({{"pmix.rank", Value::Rank(17)},
                           {"pmix.lrank", Value::Uint16(1)},
                           {"pmix.nrank", Value::Uint16(1)},
                           {"pmix.hname", Text()},
                           {"pmix.nodeid", Value::Uint32(3)},
                           {"pmix.appnum", Value::Uint32(0)},
                           {"pmix.grank", Value::Rank(17)},
                           {"pmix.locstr", Value::String("NM0:SK0:L30:CR1")}});
}

using Make = Value (*)();

void Encode(benchmark::State& state, Make make) {
  const Value value = make();
  Encoder encoder;
  size_t bytes = 0;
  for (auto _ : state) {
    encoder.PutValue(value.raw());
    const std::string out = encoder.Take();
    bytes += out.size();
    benchmark::DoNotOptimize(out.data());
  }
  state.SetBytesProcessed(static_cast<int64_t>(bytes));
}

void Decode(benchmark::State& state, Make make) {
  const std::string bytes = EncodeValue(make().raw());
  for (auto _ : state) {
    Value value;
    benchmark::DoNotOptimize(DecodeValue(bytes, value.mutable_raw()));
  }
  state.SetBytesProcessed(state.iterations() *
                          static_cast<int64_t>(bytes.size()));
}

void Skip(benchmark::State& state, Make make) {
  const std::string bytes = EncodeValue(make().raw());
  for (auto _ : state) {
    Decoder decoder(bytes);
    benchmark::DoNotOptimize(decoder.SkipValue());
  }
  state.SetBytesProcessed(state.iterations() *
                          static_cast<int64_t>(bytes.size()));
}

// Finds one key among the pairs that a rank committed.
void FindKey(benchmark::State& state) {
  Encoder encoder;
  for (int i = 0; i < 8; ++i) {
    encoder.PackKval("key" + std::to_string(i), Bytes().raw());
  }
  const std::string payload = encoder.Take();
  for (auto _ : state) {
    Decoder decoder(payload);
    KvalView kval;
    while (decoder.UnpackKval(&kval) && kval.key != "key7") {
    }
    benchmark::DoNotOptimize(kval.value.data());
  }
}

BENCHMARK_CAPTURE(Encode, number, Number);
BENCHMARK_CAPTURE(Encode, text, Text);
BENCHMARK_CAPTURE(Encode, bytes_1k, Bytes);
BENCHMARK_CAPTURE(Encode, proc_record, ProcRecord);
BENCHMARK_CAPTURE(Decode, number, Number);
BENCHMARK_CAPTURE(Decode, text, Text);
BENCHMARK_CAPTURE(Decode, bytes_1k, Bytes);
BENCHMARK_CAPTURE(Decode, proc_record, ProcRecord);
BENCHMARK_CAPTURE(Skip, proc_record, ProcRecord);
BENCHMARK(FindKey);

}  // namespace
}  // namespace canopy
