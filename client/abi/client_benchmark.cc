// Measures calls of the C interface; the data of the job is in shared memory.
#include <benchmark/benchmark.h>

#include <cstdlib>

#include "client/session/fake_agent.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix.h"

namespace canopy::client {
namespace {

// An initialised client of a fake agent, which has published data of rank 2.
class Client {
 public:
  Client() {
    PMIx_Init(&self_, nullptr, 0);
    agent_.Publish(2, {{"endpoint", Value::ByteObject(std::string(64, 'x'))},
                       {"large", Value::ByteObject(std::string(1024, 'x'))}});
  }
  ~Client() { PMIx_Finalize(nullptr, 0); }
  pmix_proc_t Rank(pmix_rank_t rank) const {
    pmix_proc_t proc = self_;
    proc.rank = rank;
    return proc;
  }

 private:
  FakeAgent agent_;
  pmix_proc_t self_ = {};
};

void Release(pmix_value_t* value) {
  if (value->type == PMIX_BYTE_OBJECT) free(value->data.bo.bytes);
  if (value->type == PMIX_STRING) free(value->data.string);
  free(value);
}

void GetFound(benchmark::State& state, pmix_rank_t rank, const char* key) {
  const Client client;
  const pmix_proc_t proc = client.Rank(rank);
  for (auto _ : state) {
    pmix_value_t* value = nullptr;
    if (PMIx_Get(&proc, key, nullptr, 0, &value) != PMIX_SUCCESS) {
      state.SkipWithError("not found");
      break;
    }
    Release(value);
  }
}
BENCHMARK_CAPTURE(GetFound, job_size, PMIX_RANK_WILDCARD, PMIX_JOB_SIZE);
BENCHMARK_CAPTURE(GetFound, local_rank, 2, PMIX_LOCAL_RANK);
BENCHMARK_CAPTURE(GetFound, hostname, 2, PMIX_HOSTNAME);
BENCHMARK_CAPTURE(GetFound, endpoint_64, 2, "endpoint");
BENCHMARK_CAPTURE(GetFound, value_1024, 2, "large");

void GetAbsent(benchmark::State& state, const char* key) {
  const Client client;
  const pmix_proc_t proc = client.Rank(2);
  InfoList infos;
  infos.Add(PMIX_OPTIONAL, Value::Bool(true));
  for (auto _ : state) {
    pmix_value_t* value = nullptr;
    if (PMIx_Get(&proc, key, infos.data(), infos.size(), &value) !=
        PMIX_ERR_NOT_FOUND) {
      state.SkipWithError("found");
      break;
    }
  }
}
BENCHMARK_CAPTURE(GetAbsent, posted_key, "absent");
BENCHMARK_CAPTURE(GetAbsent, reserved_key, "pmix.absent");

void GetPointer(benchmark::State& state) {
  const Client client;
  const pmix_proc_t proc = client.Rank(2);
  InfoList infos;
  infos.Add(PMIX_GET_POINTER_VALUES, Value::Bool(true));
  for (auto _ : state) {
    pmix_value_t* value = nullptr;
    PMIx_Get(&proc, "endpoint", infos.data(), infos.size(), &value);
    benchmark::DoNotOptimize(value);
  }
}
BENCHMARK(GetPointer);

// Measures a request to the agent's thread and its answer.
void FenceRoundTrip(benchmark::State& state) {
  const Client client;
  for (auto _ : state) PMIx_Fence(nullptr, 0, nullptr, 0);
}
BENCHMARK(FenceRoundTrip);

}  // namespace
}  // namespace canopy::client
