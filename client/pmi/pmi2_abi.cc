// PMI-2: the job, its key-value space, and services by name.
#include <unistd.h>

#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "client/pmi/abi_support.h"
#include "client/pmi/key_space.h"
#include "client/pmi/names.h"
#include "client/pmi/process.h"
#include "client/pmi/spawn.h"
#include "pmi2.h"
#include "pmix.h"

namespace canopy::pmi {

namespace {

std::optional<std::string> Find(const Process& process, const char* jobid,
                                int source, const char* key) {
  const bool own = jobid == nullptr || *jobid == '\0' ||
                   strcmp(jobid, process.self.nspace) == 0;
  pmix_proc_t proc;
  PMIX_LOAD_PROCID(&proc, own ? process.self.nspace : jobid, PMIX_RANK_UNDEF);
  std::optional<std::string> value;
  // The source rank is a hint and may be wrong.
  if (source >= 0) {
    pmix_proc_t hint = proc;
    hint.rank = static_cast<pmix_rank_t>(source);
    value = TextOf(hint, key);
  }
  if (!value) value = TextOf(proc, key);
  if (!value && own) value = PreputValue(key);
  return value;
}

// Copies the text into `room` characters. Sets *length to its length, which is
// negative if the text was truncated.
int CopyValue(std::string_view text, char* out, int room, int* length) {
  const bool fits = text.size() < static_cast<size_t>(room);
  const std::string_view part =
      fits ? text : text.substr(0, static_cast<size_t>(room) - 1);
  *length = static_cast<int>(text.size()) * (fits ? 1 : -1);
  return CopyText(part, out, room, PMI2_FAIL);
}

int ConnectWith(const char* jobid,
                pmix_status_t (*call)(const pmix_proc_t[], size_t,
                                      const pmix_info_t[], size_t)) {
  if (jobid == nullptr) return PMI2_ERR_INVALID_ARG;
  return WithProcess([&](const Process& process) {
    pmix_proc_t jobs[2] = {WholeJob(process), {}};
    PMIX_LOAD_PROCID(&jobs[1], jobid, PMIX_RANK_WILDCARD);
    return CodeOf(call(jobs, 2, nullptr, 0));
  });
}

}  // namespace

extern "C" {

PMIX_EXPORT int PMI2_Init(int* spawned, int* size, int* rank, int* appnum) {
  if (spawned == nullptr || size == nullptr || rank == nullptr ||
      appnum == nullptr) {
    return PMI2_ERR_INVALID_ARG;
  }
  if (StartProcess() != PMIX_SUCCESS) return PMI2_FAIL;
  return WithProcess([&](const Process& process) {
    *spawned = process.spawned ? 1 : 0;
    *size = static_cast<int>(process.size);
    *rank = static_cast<int>(process.self.rank);
    *appnum = static_cast<int>(process.appnum);
    return PMI2_SUCCESS;
  });
}

PMIX_EXPORT int PMI2_Finalize(void) { return CodeOf(EndProcess()); }

PMIX_EXPORT int PMI2_Initialized(void) { return CurrentProcess() ? 1 : 0; }

PMIX_EXPORT int PMI2_Abort(int flag, const char msg[]) {
  const std::optional<Process> process = CurrentProcess();
  if (process && flag == 0) {
    pmix_proc_t self = process->self;
    PMIx_Abort(PMI2_FAIL, msg, &self, 1);
  } else {
    PMIx_Abort(PMI2_FAIL, msg, nullptr, 0);
  }
  _exit(EXIT_FAILURE);
}

PMIX_EXPORT int PMI2_Job_GetId(char jobid[], int jobid_size) {
  return CopyJobName(jobid, jobid_size);
}

PMIX_EXPORT int PMI2_Job_GetRank(int* rank) {
  return ReturnNumber(rank, [](const Process& p) { return p.self.rank; });
}

PMIX_EXPORT int PMI2_Info_GetSize(int* size) {
  return ReturnNumber(size, [](const Process& p) { return p.size; });
}

// The second argument is not used, because its functions would transfer data
// between the jobs, which PMIx servers do themselves.
PMIX_EXPORT int PMI2_Job_Connect(const char jobid[], PMI2_Connect_comm_t*) {
  return ConnectWith(jobid, PMIx_Connect);
}

PMIX_EXPORT int PMI2_Job_Disconnect(const char jobid[]) {
  return ConnectWith(jobid, PMIx_Disconnect);
}

PMIX_EXPORT int PMI2_KVS_Put(const char key[], const char value[]) {
  if (key == nullptr || *key == '\0') return PMI2_ERR_INVALID_KEY;
  if (value == nullptr) return PMI2_ERR_INVALID_VAL;
  if (strlen(key) >= PMI2_MAX_KEYLEN) return PMI2_ERR_INVALID_KEY_LENGTH;
  if (strlen(value) >= PMI2_MAX_VALLEN) return PMI2_ERR_INVALID_VAL_LENGTH;
  return WithProcess([&](const Process& process) {
    const char* job = process.self.nspace;
    if (!KeyInSpace(job, job, key)) return PMI2_ERR_INVALID_KEY;
    return CodeOf(PutText(PMIX_GLOBAL, key, value));
  });
}

PMIX_EXPORT int PMI2_KVS_Fence(void) {
  return WithProcess([](const Process&) {
    const pmix_status_t status = PMIx_Commit();
    return CodeOf(status == PMIX_SUCCESS ? Barrier() : status);
  });
}

PMIX_EXPORT int PMI2_KVS_Get(const char* jobid, int src_pmi_id,
                             const char key[], char value[], int maxvalue,
                             int* vallen) {
  if (key == nullptr || *key == '\0') return PMI2_ERR_INVALID_KEY;
  if (value == nullptr || vallen == nullptr || maxvalue < 1) {
    return PMI2_ERR_INVALID_ARG;
  }
  return WithProcess([&](const Process& process) {
    *vallen = 0;
    const auto found = Find(process, jobid, src_pmi_id, key);
    return found ? CopyValue(*found, value, maxvalue, vallen) : PMI2_FAIL;
  });
}

PMIX_EXPORT int PMI2_Nameserv_publish(const char service_name[],
                                      const struct MPID_Info*,
                                      const char port[]) {
  if (!IsServiceName(service_name) || port == nullptr) {
    return PMI2_ERR_INVALID_ARG;
  }
  return WithProcess(
      [&](const Process&) { return CodeOf(PublishName(service_name, port)); });
}

PMIX_EXPORT int PMI2_Nameserv_lookup(const char service_name[],
                                     const struct MPID_Info*, char port[],
                                     int portLen) {
  if (!IsServiceName(service_name) || port == nullptr) {
    return PMI2_ERR_INVALID_ARG;
  }
  return WithProcess([&](const Process&) {
    const auto found = LookUpName(service_name);
    if (!found) return PMI2_FAIL;
    return CopyText(*found, port, portLen, PMI2_ERR_INVALID_LENGTH);
  });
}

PMIX_EXPORT int PMI2_Nameserv_unpublish(const char service_name[],
                                        const struct MPID_Info*) {
  if (!IsServiceName(service_name)) return PMI2_ERR_INVALID_ARG;
  return WithProcess(
      [&](const Process&) { return CodeOf(UnpublishName(service_name)); });
}

}  // extern "C"

}  // namespace canopy::pmi
