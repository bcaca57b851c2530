// PMI-1: the process group and services by name.
#include <unistd.h>

#include <cstring>
#include <vector>

#include "client/pmi/abi_support.h"
#include "client/pmi/key_space.h"
#include "client/pmi/names.h"
#include "client/pmi/process.h"
#include "pmi.h"
#include "pmix.h"

namespace canopy::pmi {

extern "C" {

PMIX_EXPORT int PMI_Init(int* spawned) {
  if (spawned == nullptr) return PMI_ERR_INVALID_ARG;
  if (StartProcess() != PMIX_SUCCESS) return PMI_FAIL;
  return ReturnNumber(spawned, [](const Process& process) {
    return process.spawned ? PMI_TRUE : PMI_FALSE;
  });
}

PMIX_EXPORT int PMI_Initialized(PMI_BOOL* initialized) {
  if (initialized == nullptr) return PMI_ERR_INVALID_ARG;
  *initialized = CurrentProcess() ? PMI_TRUE : PMI_FALSE;
  return PMI_SUCCESS;
}

PMIX_EXPORT int PMI_Finalize(void) { return CodeOf(EndProcess()); }

PMIX_EXPORT int PMI_Get_size(int* size) {
  return ReturnNumber(size, [](const Process& p) { return p.size; });
}

PMIX_EXPORT int PMI_Get_rank(int* rank) {
  return ReturnNumber(rank, [](const Process& p) { return p.self.rank; });
}

PMIX_EXPORT int PMI_Get_universe_size(int* size) {
  return ReturnNumber(size, [](const Process& process) {
    return NumberOf(WholeJob(process), PMIX_UNIV_SIZE).value_or(process.size);
  });
}

PMIX_EXPORT int PMI_Get_appnum(int* appnum) {
  return ReturnNumber(appnum, [](const Process& p) { return p.appnum; });
}

PMIX_EXPORT int PMI_Get_id(char id_str[], int length) {
  return CopyJobName(id_str, length);
}

PMIX_EXPORT int PMI_Get_kvs_domain_id(char id_str[], int length) {
  return CopyJobName(id_str, length);
}

PMIX_EXPORT int PMI_Get_id_length_max(int* length) {
  return ReturnLength(length, kMaxName);
}

PMIX_EXPORT int PMI_Barrier(void) {
  return WithProcess([](const Process&) { return CodeOf(Barrier()); });
}

PMIX_EXPORT int PMI_Get_clique_size(int* size) {
  return ReturnNumber(
      size, [](const Process& process) { return LocalRanks(process).size(); });
}

PMIX_EXPORT int PMI_Get_clique_ranks(int ranks[], int length) {
  if (ranks == nullptr) return PMI_ERR_INVALID_ARG;
  return WithProcess([&](const Process& process) {
    const std::vector<uint32_t> local = LocalRanks(process);
    if (length < 0 || static_cast<size_t>(length) < local.size()) {
      return PMI_ERR_INVALID_LENGTH;
    }
    for (const uint32_t rank : local) *ranks++ = static_cast<int>(rank);
    return PMI_SUCCESS;
  });
}

PMIX_EXPORT int PMI_Abort(int exit_code, const char error_msg[]) {
  PMIx_Abort(exit_code, error_msg, nullptr, 0);
  _exit(exit_code);
}

PMIX_EXPORT int PMI_Publish_name(const char service_name[], const char port[]) {
  if (!IsServiceName(service_name) || port == nullptr ||
      strlen(port) >= kMaxPort) {
    return PMI_ERR_INVALID_ARG;
  }
  return WithProcess(
      [&](const Process&) { return CodeOf(PublishName(service_name, port)); });
}

PMIX_EXPORT int PMI_Unpublish_name(const char service_name[]) {
  if (!IsServiceName(service_name)) return PMI_ERR_INVALID_ARG;
  return WithProcess(
      [&](const Process&) { return CodeOf(UnpublishName(service_name)); });
}

PMIX_EXPORT int PMI_Lookup_name(const char service_name[], char port[]) {
  if (!IsServiceName(service_name) || port == nullptr) {
    return PMI_ERR_INVALID_ARG;
  }
  return WithProcess([&](const Process&) {
    const auto found = LookUpName(service_name);
    return found ? CopyText(*found, port, kMaxPort, PMI_FAIL) : PMI_FAIL;
  });
}

}  // extern "C"

}  // namespace canopy::pmi
