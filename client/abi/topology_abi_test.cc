#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>
#include <future>
#include <string>
#include <vector>

#include "common/values/hwloc_access.h"
#include "common/values/info_list.h"
#include "common/values/kept_topologies.h"
#include "common/values/value.h"
#include "pmix.h"
#include "pmix_server.h"

namespace canopy::client {
namespace {

class TopologyTest : public testing::Test {
 protected:
  TopologyTest() { EXPECT_EQ(PMIx_Init(nullptr, nullptr, 0), PMIX_SUCCESS); }
  ~TopologyTest() override { PMIx_Finalize(nullptr, 0); }

  static std::string Text(const pmix_cpuset_t& cpuset) {
    char* text = nullptr;
    if (PMIx_server_generate_cpuset_string(&cpuset, &text) != PMIX_SUCCESS) {
      return "none";
    }
    std::string copy = text;
    free(text);
    return copy;
  }
  static std::string Locality(const char* cpus) {
    pmix_cpuset_t cpuset = {};
    char* text = nullptr;
    EXPECT_EQ(PMIx_Parse_cpuset_string(cpus, &cpuset), PMIX_SUCCESS);
    EXPECT_EQ(PMIx_server_generate_locality_string(&cpuset, &text),
              PMIX_SUCCESS);
    std::string copy = text == nullptr ? "none" : text;
    free(text);
    DestructCpuset(&cpuset);
    return copy;
  }
  static int Relative(const char* a, const char* b) {
    pmix_locality_t shared = 0;
    const int rc = PMIx_Get_relative_locality(a, b, &shared);
    return rc == PMIX_SUCCESS ? shared : rc;
  }
};

TEST_F(TopologyTest, LoadGivesEachCallerItsOwnTopology) {
  pmix_topology_t first = {};
  pmix_topology_t second = {};
  ASSERT_EQ(PMIx_Load_topology(&first), PMIX_SUCCESS);
  ASSERT_EQ(PMIx_Load_topology(&second), PMIX_SUCCESS);
  EXPECT_EQ(std::string(first.source).rfind("hwloc:2.", 0), 0u);
  EXPECT_NE(first.topology, nullptr);
  EXPECT_NE(first.topology, second.topology);
  DestructTopology(&first);
  DestructTopology(&second);
}

TEST_F(TopologyTest, FinalizeFreesTheRemainingTopologies) {
  pmix_topology_t kept = {};
  pmix_topology_t freed = {};
  ASSERT_EQ(PMIx_Load_topology(&kept), PMIX_SUCCESS);
  ASSERT_EQ(PMIx_Load_topology(&freed), PMIX_SUCCESS);
  DestructTopology(&freed);
  ASSERT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
  EXPECT_TRUE(TakeKeptTopologies().empty());
  kept = {};
  ASSERT_EQ(PMIx_Init(nullptr, nullptr, 0), PMIX_SUCCESS);
  ASSERT_EQ(PMIx_Load_topology(&kept), PMIX_SUCCESS);
  std::vector<pmix_topology_t> all = TakeKeptTopologies();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].topology, kept.topology);
  DestructTopology(&all[0]);
}

TEST_F(TopologyTest, LoadRefusesAnotherLibrarysTopology) {
  char other[] = "other";
  pmix_topology_t topology = {};
  topology.source = other;
  EXPECT_EQ(PMIx_Load_topology(&topology), PMIX_ERR_NOT_SUPPORTED);
  EXPECT_EQ(PMIx_Load_topology(nullptr), PMIX_ERR_BAD_PARAM);
}

TEST_F(TopologyTest, TheCpusetIsTheBindingOfTheProcess) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &before)) ++cpu;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  pmix_cpuset_t cpuset = {};
  EXPECT_EQ(PMIx_Get_cpuset(&cpuset, PMIX_CPUBIND_THREAD), PMIX_SUCCESS);
  EXPECT_EQ(Text(cpuset), "hwloc:" + std::to_string(cpu));
  DestructCpuset(&cpuset);
  sched_setaffinity(0, sizeof(before), &before);
  EXPECT_EQ(PMIx_Get_cpuset(nullptr, PMIX_CPUBIND_THREAD), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Get_cpuset(&cpuset, 9), PMIX_ERR_BAD_PARAM);
}

TEST_F(TopologyTest, CpusetsAreParsedAndPrinted) {
  pmix_cpuset_t cpuset = {};
  ASSERT_EQ(PMIx_Parse_cpuset_string("hwloc:0-3,8", &cpuset), PMIX_SUCCESS);
  EXPECT_EQ(Text(cpuset), "hwloc:0-3,8");
  DestructCpuset(&cpuset);
  EXPECT_EQ(PMIx_Parse_cpuset_string("other:0-3", &cpuset),
            PMIX_ERR_NOT_SUPPORTED);
  ASSERT_EQ(PMIx_Parse_cpuset_string("0-3", &cpuset), PMIX_SUCCESS);
  EXPECT_EQ(Text(cpuset), "hwloc:0-3");
  DestructCpuset(&cpuset);
  EXPECT_EQ(PMIx_Parse_cpuset_string(nullptr, &cpuset), PMIX_ERR_BAD_PARAM);
}

TEST_F(TopologyTest, ALocalityNamesTheLevelsOfThisMachine) {
  const std::string locality = Locality("hwloc:0");
  EXPECT_NE(locality.find("HT0"), std::string::npos) << locality;
  EXPECT_NE(locality.find("CR0"), std::string::npos) << locality;
  const int same = Relative(locality.c_str(), locality.c_str());
  EXPECT_TRUE(same & PMIX_LOCALITY_SHARE_HWTHREAD);
  EXPECT_TRUE(same & PMIX_LOCALITY_SHARE_CORE);
  EXPECT_TRUE(same & PMIX_LOCALITY_SHARE_NODE);
}

TEST_F(TopologyTest, RelativeLocalityHasTheSharedLevels) {
  EXPECT_EQ(Relative("hwloc:SK0:L30:CR0:HT0", "hwloc:SK0:L30:CR1:HT2"),
            PMIX_LOCALITY_SHARE_NODE | PMIX_LOCALITY_SHARE_PACKAGE |
                PMIX_LOCALITY_SHARE_L3CACHE);
  EXPECT_EQ(Relative("NM0-1:SK0", "NM1:SK3"),
            PMIX_LOCALITY_SHARE_NODE | PMIX_LOCALITY_SHARE_NUMA);
  EXPECT_EQ(Relative("other:SK0", "other:SK0"), PMIX_ERR_NOT_SUPPORTED);
  EXPECT_EQ(Relative(nullptr, "SK0"), PMIX_ERR_BAD_PARAM);
}

TEST_F(TopologyTest, DistancesOfTheDevicesAreComputed) {
  pmix_device_distance_t* distances = nullptr;
  size_t count = 0;
  ASSERT_EQ(
      PMIx_Compute_distances(nullptr, nullptr, nullptr, 0, &distances, &count),
      PMIX_SUCCESS);
  for (size_t i = 0; i < count; ++i) {
    EXPECT_STRNE(distances[i].uuid, "");
    EXPECT_LE(distances[i].mindist, distances[i].maxdist);
    EXPECT_NE(distances[i].type, PMIX_DEVTYPE_UNKNOWN);
    InfoList infos;
    infos.Add(PMIX_DEVICE_ID, Value::String(distances[i].osname));
    infos.Add(PMIX_DEVICE_TYPE,
              Value::Integer(PMIX_DEVTYPE, distances[i].type));
    pmix_device_distance_t* one = nullptr;
    size_t ones = 0;
    EXPECT_EQ(PMIx_Compute_distances(nullptr, nullptr, infos.mutable_data(),
                                     infos.size(), &one, &ones),
              PMIX_SUCCESS);
    ASSERT_EQ(ones, 1u);
    EXPECT_STREQ(one->uuid, distances[i].uuid);
    free(one->uuid);
    free(one->osname);
    free(one);
  }
  for (size_t i = 0; i < count; ++i) {
    free(distances[i].uuid);
    free(distances[i].osname);
  }
  free(distances);
  EXPECT_EQ(
      PMIx_Compute_distances(nullptr, nullptr, nullptr, 0, nullptr, &count),
      PMIX_ERR_BAD_PARAM);
}

TEST_F(TopologyTest, NonBlockingDistancesReportByTheirCallback) {
  std::promise<int> done;
  const auto on_done = [](pmix_status_t status, pmix_device_distance_t*, size_t,
                          void* cbdata, pmix_release_cbfunc_t, void*) {
    static_cast<std::promise<int>*>(cbdata)->set_value(status);
  };
  ASSERT_EQ(
      PMIx_Compute_distances_nb(nullptr, nullptr, nullptr, 0, on_done, &done),
      PMIX_SUCCESS);
  EXPECT_EQ(done.get_future().get(), PMIX_SUCCESS);
}

}  // namespace
}  // namespace canopy::client
