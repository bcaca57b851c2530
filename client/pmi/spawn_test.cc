#include "client/pmi/spawn.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/abi/client_fixture.h"
#include "client/session/fake_agent.h"
#include "common/codec/decoder.h"
#include "common/local/calls.h"
#include "common/values/info_list.h"

namespace canopy::pmi {
namespace {

using client::FakeAgent;
using client::Request;
using local::FrameType;

class SpawnTest : public client::ClientTest {
 protected:
  SpawnTest() {
    agent_->On(FrameType::kSpawn, [this](FakeAgent& agent, const Request& r) {
      agent.Reply(r, status, "job-1.1");
    });
  }
  ~SpawnTest() override {
    for (pmix_app_t& app : apps_) PMIX_APP_DESTRUCT(&app);
  }
  // Returns the applications of the first spawn.
  const std::vector<pmix_app_t>& Apps() {
    const Request request = agent_->Await(FrameType::kSpawn);
    Decoder decoder(request.As<local::Spawn>().call);
    size_t ninfo = 1;
    size_t napps = 0;
    EXPECT_TRUE(decoder.GetSize(&ninfo) && decoder.GetSize(&napps));
    EXPECT_EQ(ninfo, 0u);
    apps_.resize(napps);
    for (pmix_app_t& app : apps_) {
      EXPECT_TRUE(decoder.GetElement(PMIX_APP, &app));
    }
    EXPECT_TRUE(decoder.done());
    return apps_;
  }
  static std::vector<std::string> Texts(char** array) {
    std::vector<std::string> out;
    for (; array != nullptr && *array != nullptr; ++array) {
      out.emplace_back(*array);
    }
    return out;
  }

  int status = PMIX_SUCCESS;

 private:
  std::vector<pmix_app_t> apps_;
};

TEST_F(SpawnTest, CommandsBecomeApplications) {
  Command one{"./one", {"--fast", "x"}, 2, {{"wdir", "/tmp"}, {"soft", "1"}}};
  Command two{"two", {}, 1, {}};
  std::string job;
  EXPECT_EQ(Spawn({one, two}, {{"key", "v=1"}, {"other", ""}}, &job),
            PMIX_SUCCESS);
  EXPECT_EQ(job, "job-1.1");
  const std::vector<pmix_app_t>& apps = Apps();
  ASSERT_EQ(apps.size(), 2u);
  EXPECT_STREQ(apps[0].cmd, "./one");
  EXPECT_EQ(Texts(apps[0].argv),
            (std::vector<std::string>{"./one", "--fast", "x"}));
  EXPECT_EQ(apps[0].maxprocs, 2);
  ASSERT_EQ(apps[0].ninfo, 1u) << "MPI has no effect for unknown hints";
  EXPECT_EQ(KeyOf(apps[0].info[0]), PMIX_WDIR);
  EXPECT_STREQ(apps[0].info[0].value.data.string, "/tmp");
  EXPECT_EQ(apps[1].ninfo, 0u);
  const std::vector<std::string> preput = {"PMI_PREPUT_0=key=v=1",
                                           "PMI_PREPUT_1=other="};
  EXPECT_EQ(Texts(apps[0].env), preput);
  EXPECT_EQ(Texts(apps[1].env), preput);
}

TEST_F(SpawnTest, AFailedSpawnReturnsItsStatus) {
  status = PMIX_ERR_JOB_EXE_NOT_FOUND;
  std::string job = "before";
  EXPECT_EQ(Spawn({Command{"one", {}, 1, {}}}, {}, &job),
            PMIX_ERR_JOB_EXE_NOT_FOUND);
  EXPECT_EQ(job, "before");
}

TEST(PreputTest, PreputValueReadsTheEnvironment) {
  setenv("PMI_PREPUT_0", "key=v=1", 1);
  setenv("PMI_PREPUT_1", "key.longer=2", 1);
  EXPECT_EQ(PreputValue("key"), "v=1");
  EXPECT_EQ(PreputValue("key.longer"), "2");
  EXPECT_EQ(PreputValue("ke"), std::nullopt);
  EXPECT_EQ(PreputValue("absent"), std::nullopt);
  unsetenv("PMI_PREPUT_0");
  unsetenv("PMI_PREPUT_1");
}

}  // namespace
}  // namespace canopy::pmi
