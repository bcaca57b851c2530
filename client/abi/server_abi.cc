// C entry points that a resource manager calls: a server's start and end, its
// jobs and clients.

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/abi/environment_array.h"
#include "client/abi/server_data.h"
#include "client/abi/server_role.h"
#include "common/ids.h"
#include "common/values/memory.h"
#include "common/values/value.h"
#include "pmix.h"
#include "pmix_server.h"
#include "pmix_tool.h"
#include "server/library/environments.h"
#include "server/library/library_server.h"
#include "server/registration/registration.h"

using canopy::FromC;
using canopy::ProcId;
using canopy::client::ServerCall;
using canopy::client::ServerData;
using canopy::client::StartOrWait;
using canopy::library::Environments;
using canopy::library::LibraryServer;
using canopy::registration::Registration;

namespace {

std::string NameOf(const char* nspace) {
  return std::string(canopy::LoadName(nspace, PMIX_MAX_NSLEN + 1));
}

canopy::Result<Registration> ReadCall(
    const canopy::library::LibraryServerOptions& server, const char* nspace,
    int nlocalprocs, const pmix_info_t* info, size_t ninfo) {
  canopy::registration::Call call;
  call.nspace = NameOf(nspace);
  call.num_local_procs = nlocalprocs;
  call.infos = {info, info == nullptr ? 0 : ninfo};
  call.node_names = server.node_names;
  call.node_id = server.node_id;
  return canopy::registration::ReadRegistration(call);
}

// Returns the length of the name in `entry`, which is NAME=VALUE, including the
// '='.
size_t NameLength(std::string_view entry) {
  const size_t sign = entry.find('=');
  return sign == std::string_view::npos ? entry.size() : sign + 1;
}

// Replaces the variable's entry or appends it. Returns false if memory is
// exhausted.
bool SetVariable(const std::string& entry, char*** env) {
  const size_t name = NameLength(entry);
  size_t count = 0;
  for (; *env != nullptr && (*env)[count] != nullptr; ++count) {
    if (std::strncmp((*env)[count], entry.c_str(), name) == 0) break;
  }
  char* copy = canopy::DuplicateString(entry);
  if (copy == nullptr) return false;
  if (*env != nullptr && (*env)[count] != nullptr) {
    std::free(std::exchange((*env)[count], copy));
    return true;
  }
  void* grown = std::realloc(*env, (count + 2) * sizeof(char*));
  if (grown == nullptr) {
    std::free(copy);
    return false;
  }
  *env = static_cast<char**>(grown);
  (*env)[count] = copy;
  (*env)[count + 1] = nullptr;
  return true;
}

// Adds the variables prepared by PMIx_server_setup_local_support. Returns false
// if memory is exhausted.
bool ApplySupport(const std::string& nspace, char*** env) {
  return canopy::client::EditEnvironment(
      [&nspace](std::vector<std::string>* entries) {
        ServerData::Of().ApplySupport(nspace, entries);
      },
      env);
}

}  // namespace

extern "C" {

pmix_status_t PMIx_server_init(pmix_server_module_t* module, pmix_info_t info[],
                               size_t ninfo) {
  return canopy::client::InitServer(module, info, ninfo);
}

pmix_status_t PMIx_server_finalize(void) {
  return canopy::client::FinalizeServer();
}

pmix_status_t PMIx_tool_set_server_module(pmix_server_module_t* module) {
  return canopy::client::ServeByTool(module);
}

pmix_status_t PMIx_server_register_nspace(const pmix_nspace_t nspace,
                                          int nlocalprocs, pmix_info_t info[],
                                          size_t ninfo, pmix_op_cbfunc_t cbfunc,
                                          void* cbdata) {
  ServerCall server;
  if (!server) return PMIX_ERR_INIT;
  const bool lacks_infos = info == nullptr && ninfo > 0;
  if (nspace == nullptr || lacks_infos) return PMIX_ERR_BAD_PARAM;
  auto told = ReadCall(server->options(), nspace, nlocalprocs, info, ninfo);
  return StartOrWait(server, cbfunc, cbdata, [&](LibraryServer::Done done) {
    if (!told.ok()) {
      server->Log(NameOf(nspace), told.status());
      return done(told.code());
    }
    ServerData::Of().AddResources(&*told);
    server->RegisterJob(*std::move(told), std::move(done));
  });
}

void PMIx_server_deregister_nspace(const pmix_nspace_t nspace,
                                   pmix_op_cbfunc_t cbfunc, void* cbdata) {
  ServerCall server;
  if (!server || nspace == nullptr) {
    if (cbfunc != nullptr) {
      cbfunc(server ? PMIX_ERR_BAD_PARAM : PMIX_ERR_INIT, cbdata);
    }
    return;
  }
  ServerData::Of().RemoveSupport(NameOf(nspace));
  (void)StartOrWait(server, cbfunc, cbdata, [&](LibraryServer::Done done) {
    server->DeregisterJob(NameOf(nspace), std::move(done));
  });
}

pmix_status_t PMIx_server_register_client(const pmix_proc_t* proc, uid_t uid,
                                          gid_t gid, void* server_object,
                                          pmix_op_cbfunc_t cbfunc,
                                          void* cbdata) {
  ServerCall server;
  if (!server) return PMIX_ERR_INIT;
  if (proc == nullptr) return PMIX_ERR_BAD_PARAM;
  return StartOrWait(server, cbfunc, cbdata, [&](LibraryServer::Done done) {
    server->RegisterClient(FromC(*proc), uid, gid, server_object,
                           std::move(done));
  });
}

void PMIx_server_deregister_client(const pmix_proc_t* proc,
                                   pmix_op_cbfunc_t cbfunc, void* cbdata) {
  ServerCall server;
  if (!server || proc == nullptr) {
    if (cbfunc != nullptr) {
      cbfunc(server ? PMIX_ERR_BAD_PARAM : PMIX_ERR_INIT, cbdata);
    }
    return;
  }
  (void)StartOrWait(server, cbfunc, cbdata, [&](LibraryServer::Done done) {
    server->DeregisterClient(FromC(*proc), std::move(done));
  });
}

// A child after fork has no server, but may call this function to complete its
// own environment.
pmix_status_t PMIx_server_setup_fork(const pmix_proc_t* proc, char*** env) {
  if (proc == nullptr || env == nullptr) return PMIX_ERR_BAD_PARAM;
  Environments& environments = Environments::OfProcess();
  ServerCall server;
  if (server) server->Prepare(NameOf(proc->nspace));
  const auto entries = environments.Of(FromC(*proc));
  if (entries.empty()) return server ? PMIX_ERR_NOT_FOUND : PMIX_ERR_INIT;
  if (!ApplySupport(NameOf(proc->nspace), env)) return PMIX_ERR_NOMEM;
  for (const std::string& entry : entries) {
    if (!SetVariable(entry, env)) return PMIX_ERR_NOMEM;
  }
  return PMIX_SUCCESS;
}

pmix_status_t PMIx_server_dmodex_request(const pmix_proc_t* proc,
                                         pmix_dmodex_response_fn_t cbfunc,
                                         void* cbdata) {
  ServerCall server;
  if (!server) return PMIX_ERR_INIT;
  if (proc == nullptr || cbfunc == nullptr) return PMIX_ERR_BAD_PARAM;
  server->GetCommitted(FromC(*proc), [cbfunc, cbdata](int status,
                                                      std::string blob) {
    cbfunc(status, blob.empty() ? nullptr : blob.data(), blob.size(), cbdata);
  });
  return PMIX_SUCCESS;
}

}  // extern "C"
