#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <future>
#include <string>
#include <thread>

#include "client/abi/server_data.h"
#include "common/values/hwloc_access.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix.h"
#include "pmix_server.h"

namespace canopy::client {
namespace {

// The outcome of an operation, and the thread of its callback.
struct Result {
  static void Set(pmix_status_t status, void* cbdata) {
    auto* result = static_cast<Result*>(cbdata);
    result->thread = std::this_thread::get_id();
    result->status.set_value(status);
  }
  static void Take(pmix_status_t status, pmix_info_t* info, size_t ninfo,
                   void* cbdata, pmix_release_cbfunc_t release, void* data) {
    static_cast<Result*>(cbdata)->infos = InfoList::FromC(info, ninfo);
    release(data);
    Set(status, cbdata);
  }
  static void TakeSetup(pmix_status_t status, pmix_info_t info[], size_t ninfo,
                        void* cbdata, pmix_op_cbfunc_t release, void* data) {
    static_cast<Result*>(cbdata)->infos = InfoList::FromC(info, ninfo);
    release(PMIX_SUCCESS, data);
    Set(status, cbdata);
  }
  int Wait() {
    const int code = status.get_future().get();
    EXPECT_NE(thread, std::this_thread::get_id());
    return code;
  }

  std::promise<int> status;
  std::thread::id thread;
  InfoList infos;
};

// A process that runs a server.
class ServerSetupTest : public testing::Test {
 protected:
  ServerSetupTest() {
    EXPECT_EQ(PMIx_Init(nullptr, nullptr, 0), PMIX_SUCCESS);
    ServerData::Of().Open();
  }
  ~ServerSetupTest() override {
    ServerData::Of().Close();
    EXPECT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
  }

  static registration::Registration Job() {
    registration::Registration told;
    told.job.nspace = "job";
    ServerData::Of().AddResources(&told);
    return told;
  }
};

InfoList Key(const char* key) { return {{key, Value::String("x")}}; }

TEST(ServerSetupWithoutServer, CallsFailWithoutAServer) {
  Result result;
  EXPECT_EQ(PMIx_server_setup_application("job", nullptr, 0, Result::TakeSetup,
                                          &result),
            PMIX_ERR_INIT);
  EXPECT_EQ(
      PMIx_server_setup_local_support("job", nullptr, 0, nullptr, nullptr),
      PMIX_ERR_INIT);
  ASSERT_EQ(PMIx_Init(nullptr, nullptr, 0), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_server_collect_inventory(nullptr, 0, Result::Take, &result),
            PMIX_ERR_INIT);
  EXPECT_EQ(
      PMIx_server_deliver_inventory(nullptr, 0, nullptr, 0, nullptr, nullptr),
      PMIX_ERR_INIT);
  EXPECT_EQ(PMIx_server_register_resources(nullptr, 0, nullptr, nullptr),
            PMIX_ERR_INIT);
  EXPECT_EQ(PMIx_server_deregister_resources(nullptr, 0, nullptr, nullptr),
            PMIX_ERR_INIT);
  EXPECT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
}

TEST_F(ServerSetupTest, ApplicationsGetTheVariablesOfTheirModels) {
  setenv("UCX_TLS", "tcp", 1);
  InfoList asked{{PMIX_SETUP_APP_ENVARS, Value::Bool(true)}};
  Result result;
  ASSERT_EQ(
      PMIx_server_setup_application("job", asked.mutable_data(), asked.size(),
                                    Result::TakeSetup, &result),
      PMIX_SUCCESS);
  EXPECT_EQ(result.Wait(), PMIX_SUCCESS);
  unsetenv("UCX_TLS");
  Result prepared;
  ASSERT_EQ(PMIx_server_setup_local_support("job", result.infos.mutable_data(),
                                            result.infos.size(), Result::Set,
                                            &prepared),
            PMIX_SUCCESS);
  EXPECT_EQ(prepared.Wait(), PMIX_SUCCESS);
  spawn::Environment env;
  ServerData::Of().ApplySupport("job", &env);
  EXPECT_NE(std::find(env.begin(), env.end(), "UCX_TLS=tcp"), env.end());
}

TEST_F(ServerSetupTest, ARequestForFabricResourcesIsNotSupported) {
  InfoList asked{{PMIX_ALLOC_FABRIC_ID, Value::String("fabric")}};
  Result result;
  ASSERT_EQ(
      PMIx_server_setup_application("job", asked.mutable_data(), asked.size(),
                                    Result::TakeSetup, &result),
      PMIX_SUCCESS);
  EXPECT_EQ(result.Wait(), PMIX_ERR_NOT_SUPPORTED);
  EXPECT_TRUE(result.infos.empty());
}

TEST_F(ServerSetupTest, InvalidArgumentsAreRejected) {
  EXPECT_EQ(PMIx_server_setup_application("job", nullptr, 1, nullptr, nullptr),
            PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(
      PMIx_server_setup_local_support("job", nullptr, 1, nullptr, nullptr),
      PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(
      PMIx_server_setup_local_support(nullptr, nullptr, 0, nullptr, nullptr),
      PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_server_collect_inventory(nullptr, 1, nullptr, nullptr),
            PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_server_register_resources(nullptr, 1, nullptr, nullptr),
            PMIX_ERR_BAD_PARAM);
  InfoList required;
  required.Add("site.directive", Value::Bool(true), PMIX_INFO_REQD);
  Result result;
  EXPECT_EQ(PMIx_server_collect_inventory(required.mutable_data(), 1,
                                          Result::Take, &result),
            PMIX_SUCCESS);
  EXPECT_EQ(result.Wait(), PMIX_ERR_NOT_SUPPORTED);
  EXPECT_EQ(PMIx_server_deliver_inventory(nullptr, 0, required.mutable_data(),
                                          1, nullptr, nullptr),
            PMIX_ERR_NOT_SUPPORTED);
}

TEST_F(ServerSetupTest, SetupApplicationAcceptsANullJobAndANullCallback) {
  Result result;
  ASSERT_EQ(PMIx_server_setup_application(nullptr, nullptr, 0,
                                          Result::TakeSetup, &result),
            PMIX_SUCCESS);
  EXPECT_EQ(result.Wait(), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_server_setup_application("job", nullptr, 0, nullptr, nullptr),
            PMIX_SUCCESS);
  EXPECT_EQ(PMIx_server_collect_inventory(nullptr, 0, nullptr, nullptr),
            PMIX_SUCCESS);
}

TEST_F(ServerSetupTest, AnInventoryIsDeliveredToAnotherServer) {
  Result result;
  ASSERT_EQ(PMIx_server_collect_inventory(nullptr, 0, Result::Take, &result),
            PMIX_SUCCESS);
  ASSERT_EQ(result.Wait(), PMIX_SUCCESS);
  ASSERT_EQ(result.infos.size(), 1u);
  EXPECT_EQ(KeyOf(result.infos[0]), PMIX_NODE_INFO_ARRAY);
  EXPECT_EQ(PMIx_server_deliver_inventory(result.infos.mutable_data(), 1,
                                          nullptr, 0, nullptr, nullptr),
            PMIX_OPERATION_SUCCEEDED);
  const registration::Registration job = Job();
  ASSERT_EQ(job.other_nodes.size(), 1u);
  EXPECT_FALSE(job.other_nodes[0].name.empty());
  EXPECT_FALSE(job.other_nodes[0].keys.empty());
}

TEST_F(ServerSetupTest, RegisteredResourcesAreAddedToLaterJobs) {
  InfoList infos = Key("site.key");
  Result result;
  ASSERT_EQ(PMIx_server_register_resources(infos.mutable_data(), 1, Result::Set,
                                           &result),
            PMIX_SUCCESS);
  EXPECT_EQ(result.Wait(), PMIX_SUCCESS);
  ASSERT_EQ(Job().job_keys.size(), 1u);
  EXPECT_EQ(Job().job_keys[0].first, "site.key");
  EXPECT_EQ(PMIx_server_deregister_resources(infos.mutable_data(), 1, nullptr,
                                             nullptr),
            PMIX_OPERATION_SUCCEEDED);
  EXPECT_TRUE(Job().job_keys.empty());
}

TEST_F(ServerSetupTest, ErrorsArePassedToCallbacks) {
  InfoList infos{{PMIX_NODE_INFO_ARRAY, Value::InfoArray(Key("site.key"))}};
  Result result;
  ASSERT_EQ(PMIx_server_register_resources(infos.mutable_data(), 1, Result::Set,
                                           &result),
            PMIX_SUCCESS);
  EXPECT_EQ(result.Wait(), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(
      PMIx_server_register_resources(infos.mutable_data(), 1, nullptr, nullptr),
      PMIX_ERR_BAD_PARAM);
}

TEST_F(ServerSetupTest, ResourcesEndWithTheServer) {
  InfoList infos = Key("site.key");
  ASSERT_EQ(
      PMIx_server_register_resources(infos.mutable_data(), 1, nullptr, nullptr),
      PMIX_OPERATION_SUCCEEDED);
  ServerData::Of().Close();
  ServerData::Of().Open();
  EXPECT_TRUE(Job().job_keys.empty());
}

TEST_F(ServerSetupTest, AChildAfterForkGetsItsEnvironment) {
  const InfoList set{{PMIX_UNSET_ENVAR, Value::String("A")}};
  ASSERT_TRUE(ServerData::Of().AddSupport("job", set.span()).ok());
  std::atomic<bool> done = false;
  std::thread busy([&done] {
    const InfoList infos = Key("site.key");
    while (!done) (void)ServerData::Of().RegisterResources(infos.span());
  });
  for (int i = 0; i < 50; ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      alarm(20);
      spawn::Environment env = {"A=1"};
      ServerData::Of().ApplySupport("job", &env);
      _exit(env.empty() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
  }
  done = true;
  busy.join();
}

TEST(ServerCpusets, ACpusetIsGeneratedFromItsText) {
  pmix_cpuset_t cpuset = {};
  ASSERT_EQ(PMIx_server_generate_cpuset("hwloc:0-3", &cpuset), PMIX_SUCCESS);
  EXPECT_EQ(CpusetText(cpuset), "0-3");
  DestructCpuset(&cpuset);
  EXPECT_EQ(PMIx_server_generate_cpuset("other:0-3", &cpuset),
            PMIX_ERR_NOT_SUPPORTED);
}

}  // namespace
}  // namespace canopy::client
