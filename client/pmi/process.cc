#include "client/pmi/process.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>
#include <string_view>

#include "common/mutex.h"
#include "common/thread_annotations.h"

namespace canopy::pmi {

namespace {

struct State {
  Mutex mutex;
  std::optional<Process> process CANOPY_GUARDED_BY(mutex);
};

// The object is never destroyed, because an exit handler of the program may
// still finalize.
State& Global() {
  static State* const state = new State;
  return *state;
}

struct ReleaseValue {
  void operator()(pmix_value_t* value) const { PMIX_VALUE_RELEASE(value); }
};
using OwnedValue = std::unique_ptr<pmix_value_t, ReleaseValue>;

OwnedValue ValueOf(const pmix_proc_t& proc, const char* key, Missing missing) {
  bool flag = true;
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_IMMEDIATE, &flag, PMIX_BOOL);
  const size_t count = missing == Missing::kFails ? 1 : 0;
  pmix_value_t* value = nullptr;
  const pmix_status_t status = PMIx_Get(&proc, key, &info, count, &value);
  PMIX_INFO_DESTRUCT(&info);
  return OwnedValue(status == PMIX_SUCCESS ? value : nullptr);
}

std::optional<uint32_t> NumberIn(const pmix_value_t& value) {
  switch (value.type) {
    case PMIX_UINT16:
      return value.data.uint16;
    case PMIX_UINT32:
      return value.data.uint32;
    case PMIX_INT:
      return static_cast<uint32_t>(value.data.integer);
    case PMIX_PROC_RANK:
      return value.data.rank;
    default:
      return std::nullopt;
  }
}

bool WasSpawned(const pmix_proc_t& proc) {
  const OwnedValue value = ValueOf(proc, PMIX_SPAWNED, Missing::kFails);
  return value && value->type == PMIX_BOOL && value->data.flag;
}

}  // namespace

pmix_status_t StartProcess() {
  State& state = Global();
  const MutexLock lock(state.mutex);
  if (state.process) return PMIX_SUCCESS;
  Process found;
  const pmix_status_t status = PMIx_Init(&found.self, nullptr, 0);
  if (status != PMIX_SUCCESS) return status;
  const pmix_proc_t job = WholeJob(found);
  found.size = NumberOf(job, PMIX_JOB_SIZE).value_or(1);
  found.appnum = NumberOf(found.self, PMIX_APPNUM).value_or(0);
  found.spawned = WasSpawned(job);
  state.process = found;
  return PMIX_SUCCESS;
}

pmix_status_t EndProcess() {
  State& state = Global();
  const MutexLock lock(state.mutex);
  if (!state.process) return PMIX_ERR_INIT;
  state.process.reset();
  return PMIx_Finalize(nullptr, 0);
}

std::optional<Process> CurrentProcess() {
  State& state = Global();
  const MutexLock lock(state.mutex);
  return state.process;
}

pmix_proc_t WholeJob(const Process& process) {
  return MemberOf(process, PMIX_RANK_WILDCARD);
}

pmix_proc_t MemberOf(const Process& process, uint32_t rank) {
  pmix_proc_t proc;
  PMIX_LOAD_PROCID(&proc, process.self.nspace, rank);
  return proc;
}

std::optional<uint32_t> NumberOf(const pmix_proc_t& proc, const char* key) {
  const OwnedValue value = ValueOf(proc, key, Missing::kFails);
  return value ? NumberIn(*value) : std::nullopt;
}

std::optional<std::string> TextIn(const pmix_value_t& value) {
  if (value.type != PMIX_STRING || value.data.string == nullptr) {
    return std::nullopt;
  }
  return value.data.string;
}

std::optional<std::string> TextOf(const pmix_proc_t& proc, const char* key,
                                  Missing missing) {
  const OwnedValue value = ValueOf(proc, key, missing);
  return value ? TextIn(*value) : std::nullopt;
}

std::vector<uint32_t> LocalRanks(const Process& process) {
  const std::string list =
      TextOf(WholeJob(process), PMIX_LOCAL_PEERS).value_or("");
  std::vector<uint32_t> ranks;
  const char* at = list.data();
  const char* const end = at + list.size();
  while (at < end) {
    uint32_t rank = 0;
    const auto [next, error] = std::from_chars(at, end, rank);
    if (error != std::errc()) break;
    ranks.push_back(rank);
    at = next + 1;
  }
  if (ranks.empty()) ranks.push_back(process.self.rank);
  std::ranges::sort(ranks);
  return ranks;
}

pmix_status_t PutText(pmix_scope_t scope, const std::string& key,
                      const std::string& value) {
  pmix_value_t owned;
  PMIX_VALUE_LOAD(&owned, value.c_str(), PMIX_STRING);
  const pmix_status_t status = PMIx_Put(scope, key.c_str(), &owned);
  PMIX_VALUE_DESTRUCT(&owned);
  return status;
}

pmix_status_t Barrier() {
  bool collect = true;
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
  const pmix_status_t status = PMIx_Fence(nullptr, 0, &info, 1);
  PMIX_INFO_DESTRUCT(&info);
  return status;
}

}  // namespace canopy::pmi
