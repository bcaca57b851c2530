// C entry points for the hardware of the node: topology, cpusets, locality,
// distances.

#include <cstddef>
#include <string>
#include <vector>

#include "client/abi/callback.h"
#include "client/abi/with_session.h"
#include "client/topology/distances.h"
#include "client/topology/topology_op.h"
#include "common/values/element_ops.h"
#include "common/values/memory.h"
#include "common/values/type_table.h"
#include "pmix.h"
#include "pmix_server.h"

using canopy::client::DeviceDistance;
using canopy::client::OrIgnore;
using canopy::client::Session;
using canopy::client::WithSession;
using canopy::client::WithSessionAsync;

namespace {

pmix_status_t GiveText(const std::string& text, char** out) {
  *out = canopy::DuplicateString(text);
  return *out == nullptr ? PMIX_ERR_NOMEM : PMIX_SUCCESS;
}

void FreeDistances(pmix_device_distance_t* distances, size_t count) {
  canopy::FreeElements(*canopy::FindType(PMIX_DEVICE_DIST), distances, count);
}

// Copies the distances into an array of malloc memory; sets null if there are
// none.
pmix_status_t ToC(const std::vector<DeviceDistance>& found,
                  pmix_device_distance_t** distances, size_t* count) {
  *distances = nullptr;
  *count = 0;
  if (found.empty()) return PMIX_SUCCESS;
  auto* array = static_cast<pmix_device_distance_t*>(
      canopy::AllocateZeroed(found.size(), sizeof(pmix_device_distance_t)));
  if (array == nullptr) return PMIX_ERR_NOMEM;
  for (size_t i = 0; i < found.size(); ++i) {
    array[i].uuid = canopy::DuplicateString(found[i].id);
    array[i].osname = canopy::DuplicateString(found[i].os_name);
    array[i].type = found[i].type;
    array[i].mindist = found[i].min;
    array[i].maxdist = found[i].max;
  }
  *distances = array;
  *count = found.size();
  return PMIX_SUCCESS;
}

}  // namespace

extern "C" {

pmix_status_t PMIx_Load_topology(pmix_topology_t* topo) {
  return WithSession(
      [&](Session&) { return canopy::client::LoadTopology(topo); });
}

pmix_status_t PMIx_Get_cpuset(pmix_cpuset_t* cpuset, pmix_bind_envelope_t ref) {
  return WithSession(
      [&](Session&) { return canopy::client::CurrentCpuset(cpuset, ref); });
}

pmix_status_t PMIx_Parse_cpuset_string(const char* cpuset_string,
                                       pmix_cpuset_t* cpuset) {
  return WithSession([&](Session&) {
    return canopy::client::ParseCpusetText(cpuset_string, cpuset);
  });
}

pmix_status_t PMIx_Get_relative_locality(const char* locality1,
                                         const char* locality2,
                                         pmix_locality_t* locality) {
  return WithSession([&](Session&) {
    return canopy::client::CompareLocality(locality1, locality2, locality);
  });
}

pmix_status_t PMIx_Compute_distances(pmix_topology_t* topo,
                                     pmix_cpuset_t* cpuset, pmix_info_t info[],
                                     size_t ninfo,
                                     pmix_device_distance_t* distances[],
                                     size_t* ndist) {
  return WithSession([&](Session&) -> pmix_status_t {
    if (distances == nullptr || ndist == nullptr) return PMIX_ERR_BAD_PARAM;
    std::vector<DeviceDistance> found;
    const int rc =
        canopy::client::ComputeDistances(topo, cpuset, info, ninfo, &found);
    return rc == PMIX_SUCCESS ? ToC(found, distances, ndist) : rc;
  });
}

pmix_status_t PMIx_Compute_distances_nb(pmix_topology_t* topo,
                                        pmix_cpuset_t* cpuset,
                                        pmix_info_t info[], size_t ninfo,
                                        pmix_device_dist_cbfunc_t cbfunc,
                                        void* cbdata) {
  return WithSessionAsync([&](Session& session) -> pmix_status_t {
    std::vector<DeviceDistance> found;
    const int rc =
        canopy::client::ComputeDistances(topo, cpuset, info, ninfo, &found);
    if (rc != PMIX_SUCCESS) return rc;
    session.progress().Post([found, answer = OrIgnore(cbfunc), cbdata] {
      pmix_device_distance_t* distances = nullptr;
      size_t count = 0;
      const pmix_status_t status = ToC(found, &distances, &count);
      answer(status, distances, count, cbdata, nullptr, nullptr);
      FreeDistances(distances, count);
    });
    return PMIX_SUCCESS;
  });
}

pmix_status_t PMIx_server_generate_locality_string(const pmix_cpuset_t* cpuset,
                                                   char** locality) {
  if (locality == nullptr) return PMIX_ERR_BAD_PARAM;
  *locality = nullptr;
  std::string text;
  const int rc = canopy::client::GenerateLocality(cpuset, &text);
  return rc == PMIX_SUCCESS ? GiveText(text, locality) : rc;
}

pmix_status_t PMIx_server_generate_cpuset_string(const pmix_cpuset_t* cpuset,
                                                 char** cpuset_string) {
  if (cpuset_string == nullptr) return PMIX_ERR_BAD_PARAM;
  *cpuset_string = nullptr;
  std::string text;
  const int rc = canopy::client::GenerateCpusetText(cpuset, &text);
  return rc == PMIX_SUCCESS ? GiveText(text, cpuset_string) : rc;
}

}  // extern "C"
