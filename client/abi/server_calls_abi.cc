// C entry points of a running server: process sets, descriptions of jobs, and
// the delivery of output. Those for jobs and clients are in server_abi.cc.

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "client/abi/server_role.h"
#include "client/session/directives.h"
#include "common/bytes.h"
#include "common/required.h"
#include "common/values/info_list.h"
#include "common/values/memory.h"
#include "common/values/value.h"
#include "pmix.h"
#include "pmix_server.h"
#include "server/registration/job_info.h"
#include "server/registration/registration.h"

using canopy::ProcId;
using canopy::client::InfoArray;
using canopy::client::ServerCall;
using canopy::client::StartOrWait;
using canopy::library::DeliveredOutput;
using canopy::library::LibraryServer;

namespace {

constexpr pmix_iof_channel_t kOutputs = PMIX_FWD_STDOUT_CHANNEL |
                                        PMIX_FWD_STDERR_CHANNEL |
                                        PMIX_FWD_STDDIAG_CHANNEL;

std::vector<ProcId> ToList(const pmix_proc_t* procs, size_t count) {
  std::vector<ProcId> list;
  for (size_t i = 0; i < count; ++i) list.push_back(canopy::FromC(procs[i]));
  return list;
}

// Packs each info separately, so that readers need not know their number.
pmix_status_t Pack(const canopy::InfoList& infos, pmix_data_buffer_t* buffer) {
  for (const pmix_info_t& info : infos) {
    auto* packed = const_cast<pmix_info_t*>(&info);
    const pmix_status_t rc =
        PMIx_Data_pack(nullptr, buffer, packed, 1, PMIX_INFO);
    if (rc != PMIX_SUCCESS) return rc;
  }
  return PMIX_SUCCESS;
}

bool AnyElseRequired(const InfoArray& directives) {
  for (size_t i = 0; i < directives.size; ++i) {
    const pmix_info_t& info = directives.infos[i];
    if (canopy::MustHonour(info.flags) &&
        canopy::KeyOf(info) != PMIX_IOF_COMPLETE) {
      return true;
    }
  }
  return false;
}

bool IsComplete(const InfoArray& directives) {
  for (size_t i = 0; i < directives.size; ++i) {
    const pmix_info_t& info = directives.infos[i];
    if (canopy::KeyOf(info) == PMIX_IOF_COMPLETE) {
      return canopy::Value::FromC(info.value).AsBool().value_or(true);
    }
  }
  return false;
}

pmix_status_t CheckOutputs(pmix_iof_channel_t channel,
                           const InfoArray& directives) {
  if (channel == 0) return PMIX_ERR_BAD_PARAM;
  return (channel & ~kOutputs) != 0 || AnyElseRequired(directives)
             ? PMIX_ERR_NOT_SUPPORTED
             : PMIX_SUCCESS;
}

}  // namespace

extern "C" {

pmix_status_t PMIx_server_define_process_set(const pmix_proc_t* members,
                                             size_t nmembers,
                                             const char* pset_name) {
  ServerCall server;
  if (!server) return PMIX_ERR_INIT;
  if (members == nullptr || pset_name == nullptr) return PMIX_ERR_BAD_PARAM;
  return server->DefineSet(pset_name, ToList(members, nmembers));
}

pmix_status_t PMIx_server_delete_process_set(char* pset_name) {
  ServerCall server;
  if (!server) return PMIX_ERR_INIT;
  if (pset_name == nullptr) return PMIX_ERR_BAD_PARAM;
  return server->DeleteSet(pset_name);
}

pmix_status_t PMIx_server_collect_job_info(pmix_proc_t* procs, size_t nprocs,
                                           pmix_data_buffer_t* dbuf) {
  ServerCall server;
  if (!server) return PMIX_ERR_INIT;
  if (procs == nullptr || nprocs == 0 || dbuf == nullptr) {
    return PMIX_ERR_BAD_PARAM;
  }
  // Nothing is packed if one of the registrations does not exist.
  std::set<std::string> nspaces;
  for (const ProcId& proc : ToList(procs, nprocs)) nspaces.insert(proc.nspace);
  std::vector<std::shared_ptr<const canopy::registration::Registration>> jobs;
  for (const std::string& nspace : nspaces) {
    jobs.push_back(server->Told(nspace));
    if (jobs.back() == nullptr) return PMIX_ERR_NOT_FOUND;
  }
  for (const auto& job : jobs) {
    const pmix_status_t rc =
        Pack(canopy::registration::DescribeJob(*job), dbuf);
    if (rc != PMIX_SUCCESS) return rc;
  }
  return PMIX_SUCCESS;
}

// Input for a process is delivered by the host itself.
pmix_status_t PMIx_server_IOF_deliver(const pmix_proc_t* source,
                                      pmix_iof_channel_t channel,
                                      const pmix_byte_object_t* bo,
                                      const pmix_info_t info[], size_t ninfo,
                                      pmix_op_cbfunc_t cbfunc, void* cbdata) {
  ServerCall server;
  if (!server) return PMIX_ERR_INIT;
  const InfoArray directives{info, ninfo};
  if (source == nullptr || bo == nullptr || !directives.ok() ||
      (bo->size > 0 && bo->bytes == nullptr)) {
    return PMIX_ERR_BAD_PARAM;
  }
  DeliveredOutput output{
      canopy::FromC(*source), channel, {}, IsComplete(directives)};
  if (bo->size > 0) {
    output.data = canopy::Bytes(std::string(bo->bytes, bo->size));
  }
  return StartOrWait(server, cbfunc, cbdata, [&](LibraryServer::Done done) {
    const pmix_status_t rc = CheckOutputs(channel, directives);
    if (rc != PMIX_SUCCESS) return done(rc);
    server->DeliverOutput(std::move(output), std::move(done));
  });
}

pmix_status_t PMIx_server_IOF_flow_control(
    const pmix_proc_t* source, pmix_iof_channel_t channel, bool xoff,
    const pmix_info_t directives[], size_t ndirs, pmix_op_cbfunc_t cbfunc,
    void* cbdata) {
  ServerCall server;
  if (!server) return PMIX_ERR_INIT;
  const InfoArray given{directives, ndirs};
  if (source == nullptr || !given.ok()) return PMIX_ERR_BAD_PARAM;
  return StartOrWait(server, cbfunc, cbdata, [&](LibraryServer::Done done) {
    const pmix_status_t rc = CheckOutputs(channel, given);
    if (rc != PMIX_SUCCESS) return done(rc);
    server->SetOutputFlow(canopy::FromC(*source), channel, xoff,
                          std::move(done));
  });
}

}  // extern "C"
