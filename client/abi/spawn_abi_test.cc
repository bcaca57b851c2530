#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/abi/client_fixture.h"
#include "common/codec/decoder.h"
#include "common/ids.h"
#include "common/local/calls.h"

namespace canopy::client {
namespace {

using local::FrameType;

// An application that the library must not change or keep.
class App {
 public:
  explicit App(const char* cmd, int maxprocs = 1) {
    PMIX_APP_CONSTRUCT(&app_);
    if (cmd != nullptr) app_.cmd = strdup(cmd);
    app_.maxprocs = maxprocs;
  }
  ~App() { PMIX_APP_DESTRUCT(&app_); }
  App(const App&) = delete;
  App& operator=(const App&) = delete;

  pmix_app_t* operator->() { return &app_; }
  const pmix_app_t* get() const { return &app_; }

 private:
  pmix_app_t app_;
};

// The request that the agent has received.
struct Sent {
  InfoList infos;
  std::vector<pmix_app_t> apps;

  ~Sent() {
    for (pmix_app_t& app : apps) PMIX_APP_DESTRUCT(&app);
  }
};

void Read(const Request& request, Sent* sent) {
  Decoder decoder(request.As<local::Spawn>().call);
  size_t count = 0;
  EXPECT_TRUE(decoder.GetSize(&count));
  for (size_t i = 0; i < count; ++i) {
    pmix_info_t info = {};
    ASSERT_TRUE(decoder.GetInfo(&info));
    sent->infos.Adopt(&info);
  }
  EXPECT_TRUE(decoder.GetSize(&count));
  for (size_t i = 0; i < count; ++i) {
    pmix_app_t app = {};
    ASSERT_TRUE(decoder.GetElement(PMIX_APP, &app));
    sent->apps.push_back(app);
  }
  EXPECT_TRUE(decoder.done());
}

struct SpawnResult {
  static void Set(pmix_status_t status, char nspace[], void* cbdata) {
    auto* result = static_cast<SpawnResult*>(cbdata);
    result->nspace = nspace;
    result->thread = std::this_thread::get_id();
    result->status.set_value(status);
  }

  std::promise<int> status;
  std::string nspace;
  std::thread::id thread;
};

class SpawnTest : public ClientTest {
 protected:
  SpawnTest() { Answer(PMIX_SUCCESS, "job-1.1"); }
  void Answer(int status, const std::string& payload) {
    agent_->On(FrameType::kSpawn,
               [=](FakeAgent& agent, const Request& request) {
                 agent.Reply(request, status, payload);
               });
  }
  int Spawn(const App& app) {
    return PMIx_Spawn(nullptr, 0, app.get(), 1, nspace_);
  }

  pmix_nspace_t nspace_ = "of before";
};

TEST_F(SpawnTest, SpawnSendsAllFieldsOfTheCallToTheAgent) {
  App app("./child", 3);
  PMIX_ARGV_APPEND(status_, app->argv, "child");
  PMIX_ARGV_APPEND(status_, app->argv, "--fast");
  PMIX_ARGV_APPEND(status_, app->env, "COLOUR=green");
  app->cwd = strdup("/tmp");
  PMIX_INFO_CREATE(app->info, 1);
  app->ninfo = 1;
  PMIX_INFO_LOAD(&app->info[0], PMIX_HOST, "a,b", PMIX_STRING);
  InfoList infos = Flags({PMIX_ENVARS_HARVESTED, "site.directive"});
  infos.Add(PMIX_MAPBY, Value::String("node"), PMIX_INFO_REQD);
  EXPECT_EQ(PMIx_Spawn(infos.data(), infos.size(), app.get(), 1, nspace_),
            PMIX_SUCCESS);
  EXPECT_STREQ(nspace_, "job-1.1");
  Sent sent;
  Read(agent_->Await(FrameType::kSpawn), &sent);
  EXPECT_EQ(sent.infos, infos);
  ASSERT_EQ(sent.apps.size(), 1u);
  const pmix_app_t& got = sent.apps[0];
  EXPECT_STREQ(got.cmd, "./child");
  EXPECT_STREQ(got.argv[0], "child");
  EXPECT_STREQ(got.argv[1], "--fast");
  EXPECT_EQ(got.argv[2], nullptr);
  EXPECT_STREQ(got.env[0], "COLOUR=green");
  EXPECT_EQ(got.env[1], nullptr);
  EXPECT_STREQ(got.cwd, "/tmp");
  EXPECT_EQ(got.maxprocs, 3);
  ASSERT_EQ(got.ninfo, 1u);
  EXPECT_EQ(KeyOf(got.info[0]), PMIX_HOST);
}

TEST_F(SpawnTest, CommandLinesBeginWithTheProgram) {
  App arguments("/opt/child");
  PMIX_ARGV_APPEND(status_, arguments->argv, "--fast");
  App no_command(nullptr);
  PMIX_ARGV_APPEND(status_, no_command->argv, "/opt/child");
  const App no_argv("/opt/child");
  const pmix_app_t apps[] = {*arguments.get(), *no_command.get(),
                             *no_argv.get()};
  EXPECT_EQ(PMIx_Spawn(nullptr, 0, apps, 3, nspace_), PMIX_SUCCESS);
  Sent sent;
  Read(agent_->Await(FrameType::kSpawn), &sent);
  ASSERT_EQ(sent.apps.size(), 3u);
  for (const pmix_app_t& app : sent.apps) EXPECT_STREQ(app.cmd, "/opt/child");
  EXPECT_STREQ(sent.apps[0].argv[0], "child");
  EXPECT_STREQ(sent.apps[0].argv[1], "--fast");
  EXPECT_EQ(sent.apps[0].argv[2], nullptr);
  EXPECT_STREQ(sent.apps[1].argv[0], "/opt/child");
  EXPECT_EQ(sent.apps[1].argv[1], nullptr);
  EXPECT_STREQ(sent.apps[2].argv[0], "child");
  EXPECT_EQ(sent.apps[2].argv[1], nullptr);
}

TEST_F(SpawnTest, AnApplicationWithoutADirectoryGetsTheCallersDirectory) {
  const std::string before = std::filesystem::current_path();
  std::filesystem::current_path("/usr");
  EXPECT_EQ(Spawn(App("child")), PMIX_SUCCESS);
  std::filesystem::current_path(before);
  Sent sent;
  Read(agent_->Await(FrameType::kSpawn), &sent);
  ASSERT_EQ(sent.apps.size(), 1u);
  EXPECT_STREQ(sent.apps[0].cwd, "/usr");
}

TEST_F(SpawnTest, ASpawnOfSeveralApplicationsAcceptsANullNamespace) {
  App one("one");
  App two("two", 2);
  const pmix_app_t apps[] = {*one.get(), *two.get()};
  EXPECT_EQ(PMIx_Spawn(nullptr, 0, apps, 2, nullptr), PMIX_SUCCESS);
  Sent sent;
  Read(agent_->Await(FrameType::kSpawn), &sent);
  EXPECT_TRUE(sent.infos.empty());
  ASSERT_EQ(sent.apps.size(), 2u);
  EXPECT_STREQ(sent.apps[1].cmd, "two");
}

TEST_F(SpawnTest, SpawnReturnsTheAgentsStatus) {
  const App app("child");
  for (const int status :
       {PMIX_ERR_JOB_ALLOC_FAILED, PMIX_ERR_JOB_APP_NOT_EXECUTABLE,
        PMIX_ERR_JOB_FAILED_TO_MAP, PMIX_ERR_JOB_FAILED_TO_LAUNCH,
        PMIX_ERR_JOB_EXE_NOT_FOUND, PMIX_ERR_JOB_INSUFFICIENT_RESOURCES,
        PMIX_ERR_JOB_SYS_OP_FAILED, PMIX_ERR_JOB_WDIR_NOT_FOUND,
        PMIX_ERR_NOT_SUPPORTED, PMIX_ERR_TIMEOUT}) {
    Answer(status, "");
    EXPECT_EQ(Spawn(app), status);
    EXPECT_STREQ(nspace_, "");
  }
}

TEST_F(SpawnTest, AMalformedNameIsAFailure) {
  const App app("child");
  Answer(PMIX_SUCCESS, "");
  EXPECT_EQ(Spawn(app), PMIX_ERR_UNPACK_FAILURE);
  Answer(PMIX_SUCCESS, std::string(kMaxNspaceLen + 1, 'n'));
  EXPECT_EQ(Spawn(app), PMIX_ERR_UNPACK_FAILURE);
  EXPECT_STREQ(nspace_, "");
  Answer(PMIX_SUCCESS, std::string(kMaxNspaceLen, 'n'));
  EXPECT_EQ(Spawn(app), PMIX_SUCCESS);
  EXPECT_EQ(strlen(nspace_), kMaxNspaceLen);
}

TEST_F(SpawnTest, WrongArgumentsAreRejected) {
  const App good("child");
  SpawnResult result;
  EXPECT_EQ(PMIx_Spawn(nullptr, 0, nullptr, 0, nspace_), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Spawn(nullptr, 0, nullptr, 1, nspace_), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Spawn(nullptr, 0, good.get(), 0, nspace_), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Spawn(nullptr, 1, good.get(), 1, nspace_), PMIX_ERR_BAD_PARAM);
  EXPECT_STREQ(nspace_, "");
  EXPECT_EQ(Spawn(App(nullptr)), PMIX_ERR_JOB_NO_EXE_SPECIFIED);
  EXPECT_EQ(Spawn(App("")), PMIX_ERR_JOB_NO_EXE_SPECIFIED);
  EXPECT_EQ(Spawn(App("child", -1)), PMIX_ERR_BAD_PARAM);
  App infos("child");
  infos->ninfo = 1;
  EXPECT_EQ(Spawn(infos), PMIX_ERR_BAD_PARAM);
  infos->ninfo = 0;
  EXPECT_EQ(PMIx_Spawn_nb(nullptr, 0, nullptr, 0, SpawnResult::Set, &result),
            PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(agent_->Count(FrameType::kSpawn), 0u);
}

TEST_F(SpawnTest, ANonBlockingSpawnReportsTheName) {
  const App app("child");
  SpawnResult result;
  ASSERT_EQ(PMIx_Spawn_nb(nullptr, 0, app.get(), 1, SpawnResult::Set, &result),
            PMIX_SUCCESS);
  EXPECT_EQ(result.status.get_future().get(), PMIX_SUCCESS);
  EXPECT_EQ(result.nspace, "job-1.1");
  EXPECT_NE(result.thread, std::this_thread::get_id());
}

TEST_F(SpawnTest, AFailedNonBlockingSpawnReportsItsStatus) {
  Answer(PMIX_ERR_JOB_EXE_NOT_FOUND, "");
  const App app("child");
  SpawnResult result;
  ASSERT_EQ(PMIx_Spawn_nb(nullptr, 0, app.get(), 1, SpawnResult::Set, &result),
            PMIX_SUCCESS);
  EXPECT_EQ(result.status.get_future().get(), PMIX_ERR_JOB_EXE_NOT_FOUND);
  EXPECT_EQ(result.nspace, "");
}

TEST_F(SpawnTest, TheSpawnersGetsReadTheDataOfTheNewJob) {
  agent_->On(FrameType::kGet, [](FakeAgent& agent, const Request& request) {
    agent.OfferNamespace("job-1.1", 6);
    agent.Reply(request, kSuccess);
  });
  const App app("child");
  ASSERT_EQ(Spawn(app), PMIX_SUCCESS);
  const pmix_proc_t child = Proc(nspace_, PMIX_RANK_WILDCARD);
  EXPECT_EQ(Get(&child, PMIX_JOB_SIZE, {}, &status_), Value::Uint32(6));
  EXPECT_EQ(status_, PMIX_SUCCESS);
}

TEST(SpawnWithoutAgentTest, SpawnFailsWithoutAnAgent) {
  const App app("child");
  pmix_nspace_t nspace;
  EXPECT_EQ(PMIx_Spawn(nullptr, 0, app.get(), 1, nspace), PMIX_ERR_INIT);
  ASSERT_EQ(PMIx_Init(nullptr, nullptr, 0), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Spawn(nullptr, 0, app.get(), 1, nspace), PMIX_ERR_UNREACH);
  EXPECT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
}

}  // namespace
}  // namespace canopy::client
