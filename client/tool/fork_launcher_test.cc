// Tests with scripts as launchers; tests/integration uses `canopy run`.
#include "client/tool/fork_launcher.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "client/session/fake_agent.h"
#include "client/session/servers.h"
#include "client/session/tool_bootstrap.h"
#include "client/tool/launcher_orders.h"
#include "common/values/info_list.h"
#include "common/values/value.h"

namespace canopy::client {
namespace {

class ForkLauncherTest : public testing::Test {
 protected:
  ForkLauncherTest() {
    EXPECT_NE(mkdtemp(place_), nullptr);
    agent_.Rename({"launcher", 0});
    std::ofstream(At("contact"))
        << "launcher.0;tcp4://127.0.0.1:1\n4.2.2\n1\n0:0\nnow\ncanopy:"
        << agent_.socket_path() << "\n";
    session_.emplace(MakeUnconnectedTool({"me", 0}),
                     /*external_progress=*/false);
  }
  ~ForkLauncherTest() override {
    session_.reset();
    // The launcher, which ends now, may make its file meanwhile.
    std::error_code error;
    do {
      std::filesystem::remove_all(place_, error);
    } while (error == std::errc::directory_not_empty);
  }
  std::string At(const std::string& name) const {
    return std::string(place_) + "/" + name;
  }

  // Returns the script of a launcher that becomes a server, and makes a file
  // when its initiator ends.
  std::string Launcher() const {
    return "cp " + At("contact") +
           " $PMIX_LAUNCHER_RNDZ_FILE.new && mv $PMIX_LAUNCHER_RNDZ_FILE.new "
           "$PMIX_LAUNCHER_RNDZ_FILE && cat "
           "/proc/self/fd/$PMIX_KEEPALIVE_PIPE; touch " +
           At("ended");
  }
  int Fork(const std::string& script, const InfoList& directives = {},
           std::vector<std::string> env = {}, int procs = 1,
           const char* program = "sh", const char* directory = nullptr) {
    std::vector<std::string> texts = {"sh", "-c", script};
    std::vector<char*> argv;
    for (std::string& text : texts) argv.push_back(text.data());
    argv.push_back(nullptr);
    std::vector<char*> entries;
    for (std::string& entry : env) entries.push_back(entry.data());
    entries.push_back(nullptr);
    pmix_app_t app = {};
    app.cmd = const_cast<char*>(program);
    app.argv = argv.data();
    app.env = entries.data();
    app.cwd = const_cast<char*>(directory);
    app.maxprocs = procs;
    SpawnRequest request;
    request.directives = {directives.data(), directives.size()};
    request.apps = {&app, 1};
    return ForkLauncher(*session_, request, nspace_);
  }
  bool Appears(const std::string& name) const {
    for (int i = 0; i < 1000; ++i) {
      if (std::filesystem::exists(At(name))) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  char place_[32] = "/tmp/canopy-fork-XXXXXX";
  FakeAgent agent_;
  std::optional<Session> session_;
  pmix_nspace_t nspace_ = {};
};

TEST_F(ForkLauncherTest, TheLauncherIsTheServerAndEndsWithTheSession) {
  EXPECT_TRUE(MustForkLauncher(*session_));
  ASSERT_EQ(Fork(Launcher()), PMIX_SUCCESS);
  EXPECT_TRUE(std::string(nspace_).starts_with("launcher.")) << nspace_;
  ASSERT_EQ(session_->servers().names().size(), 1u);
  EXPECT_EQ(session_->servers().names()[0].nspace, "launcher");
  EXPECT_FALSE(MustForkLauncher(*session_));
  EXPECT_FALSE(std::filesystem::exists(At("ended")));
  session_.reset();
  EXPECT_TRUE(Appears("ended"));
}

TEST_F(ForkLauncherTest, ALauncherIsSearchedForInItsDirectoryAfterPath) {
  const std::string path = "PATH=" + At("bin") + ":/bin";
  std::filesystem::create_directory(At("bin"));
  std::ofstream(At("launch")) << "#!/bin/sh\nexec \"$@\"\n";
  std::filesystem::permissions(At("launch"), std::filesystem::perms::owner_all);
  EXPECT_EQ(Fork(Launcher(), {}, {path}, 1, "launch", "/"),
            PMIX_ERR_JOB_EXE_NOT_FOUND);
  EXPECT_EQ(Fork(Launcher(), {}, {path}, 1, "launch", place_), PMIX_SUCCESS);
}

TEST_F(ForkLauncherTest, SetPrimaryAndDisconnectAcceptTheLaunchersName) {
  ASSERT_EQ(Fork(Launcher()), PMIX_SUCCESS);
  Servers& servers = session_->servers();
  EXPECT_EQ(servers.SetPrimary({nspace_, 0}), kSuccess);
  EXPECT_EQ(servers.SetPrimary({nspace_, kRankWildcard}), kSuccess);
  EXPECT_EQ(servers.SetPrimary({"launcher", 0}), kSuccess);
  EXPECT_EQ(servers.SetPrimary({nspace_, 1}), kErrUnreach);
  EXPECT_EQ(servers.Disconnect({nspace_, 0}), kSuccess);
  EXPECT_TRUE(servers.names().empty());
}

TEST_F(ForkLauncherTest, TheLauncherGetsTheStopAndTheJobsDirectivesAsOrders) {
  InfoList of_job;
  of_job.Add(PMIX_MAPBY, Value::String("node"));
  InfoList directives;
  directives.Add(PMIX_DEBUG_STOP_IN_INIT, Value::Bool(true));
  directives.Add(PMIX_LAUNCH_DIRECTIVES, Value::InfoArray(of_job));
  const std::string script =
      "echo $CANOPY_LAUNCHER_ORDERS > " + At("orders") + "; ";
  ASSERT_EQ(Fork(script + Launcher(), directives), PMIX_SUCCESS);
  std::string text;
  std::ifstream(At("orders")) >> text;
  const Result<LauncherOrders> orders = ReadOrders(text);
  ASSERT_TRUE(orders.ok());
  EXPECT_EQ(orders->name, (ProcId{nspace_, 0}));
  EXPECT_EQ(orders->job_data.FindProc(PMIX_PARENT_ID), (ProcId{"me", 0}));
  EXPECT_EQ(orders->job_data.FindBool(PMIX_DEBUG_STOP_IN_INIT), true);
  const pmix_info_t* const found =
      orders->job_data.Find(PMIX_LAUNCH_DIRECTIVES);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(Value::FromC(found->value), Value::InfoArray(of_job));
}

TEST_F(ForkLauncherTest, TheLauncherGetsTheRequestedEnvironmentAndDirectory) {
  InfoList directives;
  directives.Add(PMIX_SPAWN_TOOL, Value::Bool(true));
  directives.Add(PMIX_WDIR, Value::String(place_));
  const std::string file = At("server");
  ASSERT_EQ(Fork("echo $WORD > told; " + Launcher(), directives,
                 {"WORD=hello", "PMIX_LAUNCHER_RNDZ_FILE=" + file}),
            PMIX_SUCCESS);
  EXPECT_TRUE(std::filesystem::exists(file));
  std::string word;
  std::ifstream(At("told")) >> word;
  EXPECT_EQ(word, "hello");
}

TEST_F(ForkLauncherTest, AnExecAgentExecutesTheLauncher) {
  std::ofstream(At("agent"))
      << "#!/bin/sh\necho \"$1\" > " << At("agent.saw") << "\nexec \"$@\"\n";
  std::filesystem::permissions(At("agent"), std::filesystem::perms::owner_all);
  InfoList directives;
  directives.Add(PMIX_EXEC_AGENT, Value::String(At("agent")));
  ASSERT_EQ(Fork(Launcher(), directives), PMIX_SUCCESS);
  EXPECT_TRUE(Appears("agent.saw"));
}

TEST_F(ForkLauncherTest, TheForkAgentStartsTheExecAgent) {
  for (const char* name : {"forks", "becomes"}) {
    std::ofstream(At(name))
        << "#!/bin/sh\necho \"$1\" > " << At(name) << ".saw\n\"$@\"\n";
    std::filesystem::permissions(At(name), std::filesystem::perms::owner_all);
  }
  InfoList directives;
  directives.Add(PMIX_FORKEXEC_AGENT, Value::String(At("forks")));
  directives.Add(PMIX_EXEC_AGENT, Value::String(At("becomes")));
  ASSERT_EQ(Fork(Launcher(), directives), PMIX_SUCCESS);
  EXPECT_TRUE(Appears("becomes.saw"));
  std::ifstream saw(At("forks.saw"));
  std::string first;
  EXPECT_TRUE(std::getline(saw, first));
  EXPECT_EQ(first, At("becomes"));
}

TEST_F(ForkLauncherTest, OptionalForwardingDirectivesAreIgnored) {
  InfoList directives;
  for (const char* key : {PMIX_FWD_STDOUT, PMIX_FWD_STDERR, PMIX_FWD_STDIN,
                          PMIX_IOF_TAG_OUTPUT, PMIX_IOF_CACHE_SIZE}) {
    directives.Add(key, Value::Bool(true));
  }
  directives.Add(PMIX_FWD_STDDIAG, Value::Bool(false), PMIX_INFO_REQD);
  EXPECT_EQ(Fork(Launcher(), directives), PMIX_SUCCESS);
}

TEST_F(ForkLauncherTest, WithNohupTheLauncherGetsNoPipeOfTheTool) {
  InfoList directives;
  directives.Add(PMIX_NOHUP, Value::Bool(true));
  ASSERT_EQ(Fork("[ -z \"$PMIX_KEEPALIVE_PIPE\" ] && touch " + At("free") +
                     "; cp " + At("contact") +
                     " $PMIX_LAUNCHER_RNDZ_FILE; "
                     "while [ -d " +
                     place_ + " ]; do sleep 0.05; done",
                 directives),
            PMIX_SUCCESS);
  EXPECT_TRUE(Appears("free"));
}

TEST_F(ForkLauncherTest, AProgramThatIsNotALauncherFails) {
  InfoList soon;
  soon.Add(PMIX_TIMEOUT, Value::Int(1));
  EXPECT_EQ(Fork("exit 3"), PMIX_ERR_JOB_FAILED_TO_LAUNCH);
  EXPECT_EQ(Fork("exec cat /proc/self/fd/$PMIX_KEEPALIVE_PIPE", soon),
            PMIX_ERR_TIMEOUT);
  EXPECT_EQ(Fork("", {}, {}, 1, "no-such-program-anywhere"),
            PMIX_ERR_JOB_EXE_NOT_FOUND);
  EXPECT_EQ(Fork("", {}, {}, 1, "/no/such/program"),
            PMIX_ERR_JOB_EXE_NOT_FOUND);
  EXPECT_EQ(Fork("", {}, {}, 1, place_), PMIX_ERR_JOB_APP_NOT_EXECUTABLE);
  EXPECT_EQ(Fork("", {}, {}, 1, "sh", "/no/such/place"),
            PMIX_ERR_JOB_WDIR_NOT_FOUND);
  EXPECT_STREQ(nspace_, "");
  EXPECT_TRUE(MustForkLauncher(*session_));
}

TEST_F(ForkLauncherTest, UnsupportedDirectivesAreRefused) {
  EXPECT_EQ(Fork("", {}, {}, 2), PMIX_ERR_NOT_SUPPORTED);
  for (const char* key :
       {PMIX_LAUNCHER_DAEMON, PMIX_FWD_STDOUT, PMIX_IOF_XML_OUTPUT}) {
    InfoList directives;
    directives.Add(key, Value::Bool(true), PMIX_INFO_REQD);
    EXPECT_EQ(Fork("", directives), PMIX_ERR_NOT_SUPPORTED) << key;
  }
  InfoList malformed;
  malformed.Add(PMIX_WDIR, Value::Int(1));
  EXPECT_EQ(Fork("", malformed), PMIX_ERR_BAD_PARAM);
  InfoList no_list;
  no_list.Add(PMIX_LAUNCH_DIRECTIVES, Value::Bool(true));
  EXPECT_EQ(Fork("", no_list), PMIX_ERR_BAD_PARAM);
  InfoList much;
  const std::string text(size_t{40} << 10, 'x');
  much.Add(PMIX_MAPBY, Value::String(text));
  InfoList too_long;
  too_long.Add(PMIX_LAUNCH_DIRECTIVES, Value::InfoArray(much));
  EXPECT_EQ(Fork("", too_long), PMIX_ERR_OUT_OF_RESOURCE);
  EXPECT_EQ(ForkLauncher(*session_, {}, nspace_), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(Fork("", {}, {}, 1, ""), PMIX_ERR_JOB_NO_EXE_SPECIFIED);
}

}  // namespace
}  // namespace canopy::client
