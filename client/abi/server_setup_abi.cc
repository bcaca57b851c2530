// C entry points for data that a resource manager collects and prepares: the
// setup of applications before their start, the inventory of nodes, cpusets,
// and resources that belong to no job.

#include <unistd.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "client/abi/callback.h"
#include "client/abi/server_data.h"
#include "client/session/directives.h"
#include "client/session/lifecycle.h"
#include "client/topology/inventory.h"
#include "client/topology/topology_op.h"
#include "common/support/ignored_directives.h"
#include "common/values/info_list.h"
#include "common/values/memory.h"
#include "pmix.h"
#include "pmix_server.h"
#include "server/setup/application_setup.h"

using canopy::InfoList;
using canopy::client::InfoArray;
using canopy::client::NonBlockingApiCall;
using canopy::client::OrIgnore;
using canopy::client::ServerData;

namespace {

using Infos = std::span<const pmix_info_t>;

// Gives one call access to the session and the server's data. False outside of
// PMIx_server_init and PMIx_server_finalize.
class Call {
 public:
  explicit operator bool() const {
    return static_cast<bool>(call_) && ServerData::Of().is_open();
  }
  void Post(std::function<void()> callback) const {
    call_.session().progress().Post(std::move(callback));
  }

 private:
  NonBlockingApiCall call_;
};

// Runs the library's own work at once. A callback gets the result in every
// case, because some hosts wait for it without checking the returned status.
pmix_status_t Do(const InfoArray& infos, pmix_op_cbfunc_t cbfunc, void* cbdata,
                 const std::function<canopy::Status(Infos)>& work) {
  const Call call;
  if (!call) return PMIX_ERR_INIT;
  if (!infos.ok()) return PMIX_ERR_BAD_PARAM;
  const int status = work({infos.infos, infos.size}).code();
  if (cbfunc != nullptr) {
    call.Post([=] { cbfunc(status, cbdata); });
    return PMIX_SUCCESS;
  }
  return status == PMIX_SUCCESS ? PMIX_OPERATION_SUCCEEDED : status;
}

// Frees the infos of a host when it calls the release function.
void FreeInfos(void* infos) { delete static_cast<InfoList*>(infos); }
void FreeInfosAfter(pmix_status_t, void* infos) { FreeInfos(infos); }

// Returns whether a directive is required, and reports the others, because the
// function honours none.
bool AnyRequired(std::string_view function, Infos directives) {
  for (const pmix_info_t& directive : directives) {
    if (canopy::support::NotHonoured(function, directive) != PMIX_SUCCESS) {
      return true;
    }
  }
  return false;
}

std::string NameOf(const char* nspace) {
  return std::string(canopy::LoadName(nspace, PMIX_MAX_NSLEN + 1));
}

}  // namespace

extern "C" {

// The collected data is the same for every job.
pmix_status_t PMIx_server_setup_application(
    const pmix_nspace_t /*nspace*/, pmix_info_t info[], size_t ninfo,
    pmix_setup_application_cbfunc_t cbfunc, void* cbdata) {
  const Call call;
  if (!call) return PMIX_ERR_INIT;
  const InfoArray directives{info, ninfo};
  if (!directives.ok()) return PMIX_ERR_BAD_PARAM;
  if (cbfunc == nullptr) return PMIX_SUCCESS;
  auto collected =
      canopy::setup::SetUpApplication({info, directives.size}, environ);
  const int status = collected.code();
  auto infos = std::make_unique<InfoList>();
  if (collected.ok()) *infos = *std::move(collected);
  call.Post([status, cbfunc, cbdata, all = infos.release()] {
    cbfunc(status, all->mutable_data(), all->size(), cbdata, FreeInfosAfter,
           all);
  });
  return PMIX_SUCCESS;
}

pmix_status_t PMIx_server_setup_local_support(const pmix_nspace_t nspace,
                                              pmix_info_t info[], size_t ninfo,
                                              pmix_op_cbfunc_t cbfunc,
                                              void* cbdata) {
  return Do({info, ninfo}, cbfunc, cbdata, [nspace](Infos infos) {
    if (nspace == nullptr) return canopy::Status(PMIX_ERR_BAD_PARAM);
    return ServerData::Of().AddSupport(NameOf(nspace), infos);
  });
}

pmix_status_t PMIx_server_collect_inventory(pmix_info_t directives[],
                                            size_t ndirs,
                                            pmix_info_cbfunc_t cbfunc,
                                            void* cbdata) {
  const Call call;
  if (!call) return PMIX_ERR_INIT;
  if (!InfoArray{directives, ndirs}.ok()) return PMIX_ERR_BAD_PARAM;
  auto infos = std::make_unique<InfoList>();
  const int status =
      AnyRequired("PMIx_server_collect_inventory", {directives, ndirs})
          ? PMIX_ERR_NOT_SUPPORTED
          : canopy::client::CollectInventory(infos.get());
  call.Post([status, answer = OrIgnore(cbfunc), cbdata, all = infos.release()] {
    answer(status, all->mutable_data(), all->size(), cbdata, FreeInfos, all);
  });
  return PMIX_SUCCESS;
}

pmix_status_t PMIx_server_deliver_inventory(pmix_info_t info[], size_t ninfo,
                                            pmix_info_t directives[],
                                            size_t ndirs,
                                            pmix_op_cbfunc_t cbfunc,
                                            void* cbdata) {
  return Do({info, ninfo}, cbfunc, cbdata, [=](Infos infos) {
    if (!InfoArray{directives, ndirs}.ok()) {
      return canopy::Status(PMIX_ERR_BAD_PARAM);
    }
    if (AnyRequired("PMIx_server_deliver_inventory", {directives, ndirs})) {
      return canopy::Status(PMIX_ERR_NOT_SUPPORTED);
    }
    return ServerData::Of().DeliverInventory(infos);
  });
}

pmix_status_t PMIx_server_register_resources(pmix_info_t info[], size_t ninfo,
                                             pmix_op_cbfunc_t cbfunc,
                                             void* cbdata) {
  return Do({info, ninfo}, cbfunc, cbdata, [](Infos infos) {
    return ServerData::Of().RegisterResources(infos);
  });
}

pmix_status_t PMIx_server_deregister_resources(pmix_info_t info[], size_t ninfo,
                                               pmix_op_cbfunc_t cbfunc,
                                               void* cbdata) {
  return Do({info, ninfo}, cbfunc, cbdata, [](Infos infos) {
    return ServerData::Of().DeregisterResources(infos);
  });
}

pmix_status_t PMIx_server_generate_cpuset(const char* cpuset_string,
                                          pmix_cpuset_t* cpuset) {
  return canopy::client::ParseCpusetText(cpuset_string, cpuset);
}

}  // extern "C"
