#include "client/cli/context/run_contexts.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/context/context.pb.h"
#include "client/cli/context/run_directory.h"
#include "common/posix/unique_fd.h"
#include "common/posix/unix_socket.h"

namespace canopy::cli {
namespace {

namespace fs = std::filesystem;

using Names = std::vector<std::string>;

class RunContextsTest : public testing::Test {
 protected:
  RunContextsTest() {
    base_ = "/tmp/runsXXXXXX";  // short enough for sockets
    EXPECT_NE(mkdtemp(base_.data()), nullptr);
    parent_ = base_ + "/canopy-" + std::to_string(geteuid());
  }
  ~RunContextsTest() override { fs::remove_all(base_); }

  RunDirectory Started() const {
    Result<RunDirectory> run = RunDirectory::Make(parent_);
    EXPECT_TRUE(run.ok()) << run.status().message();
    EXPECT_TRUE(run->Publish(ContextOf(run->name())).ok());
    return *std::move(run);
  }

  static v1::Context ContextOf(const std::string& name) {
    v1::Context context;
    context.set_name(name);
    context.set_cluster_key(std::string("\0\xff key", 6));
    context.mutable_launcher()->set_pid(4711);
    context.mutable_launcher()->set_directory("/home/\xff");
    context.add_members()->set_name("node1");
    return context;
  }

  // Creates the directory that remains of a run whose launcher was killed.
  std::string Stale(const std::string& name) const {
    const std::string path = parent_ + "/" + name;
    for (const std::string& each : {parent_, path, path + "/0"}) {
      mkdir(each.c_str(), 0700);
    }
    std::ofstream(path + "/context.json") << R"({"members": [{"name": "n"}]})";
    std::ofstream(path + "/0/file") << "of an agent";
    return path;
  }

  std::string base_;
  std::string parent_;
};

TEST_F(RunContextsTest, ListsNothingIfThereAreNoRuns) {
  EXPECT_EQ(*RunContexts(parent_).List(), Names());
  EXPECT_EQ(RunContexts(parent_).Load("run-1").code(), kErrNotFound);
}

TEST_F(RunContextsTest, ARunIsListedWhileItsLauncherLocksIt) {
  const RunContexts contexts(parent_);
  std::optional<RunDirectory> run(Started());
  const std::string name = run->name();
  EXPECT_EQ(*contexts.List(), Names{name});
  const Result<v1::Context> loaded = contexts.Load(name);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  EXPECT_EQ(loaded->launcher().directory(), "/home/\xff");
  EXPECT_EQ(loaded->cluster_key(), std::string("\0\xff key", 6));
  run.reset();
  EXPECT_EQ(*contexts.List(), Names());
}

TEST_F(RunContextsTest, ARunWithoutAgentsIsKeptButNotListed) {
  const Result<RunDirectory> run = RunDirectory::Make(parent_);
  EXPECT_EQ(*RunContexts(parent_).List(), Names());
  EXPECT_TRUE(fs::exists(run->path()));
}

TEST_F(RunContextsTest, TheDirectoryOfAKilledRunIsRemoved) {
  const std::string path = Stale("run-4194000");
  EXPECT_EQ(*RunContexts(parent_).List(), Names());
  EXPECT_FALSE(fs::exists(path));
  EXPECT_TRUE(fs::is_empty(base_)) << "the user's directory is left";
}

TEST_F(RunContextsTest, AgentsThatAnswerKeepTheContextOfAKilledLauncher) {
  const std::string path = Stale("run-4194000");
  {
    const Result<UniqueFd> socket = ListenUnix(path + "/0/control.sock", 1);
    ASSERT_TRUE(socket.ok()) << socket.status().message();
    EXPECT_EQ(*RunContexts(parent_).List(), Names{"run-4194000"});
    EXPECT_TRUE(RunContexts(parent_).Load("run-4194000").ok());
  }
  EXPECT_EQ(*RunContexts(parent_).List(), Names());
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(RunContextsTest, OtherDirectoriesAreKept) {
  const std::vector<std::string> others = {Stale("5ea2c6c9"), Stale("contexts"),
                                           Stale("run-x"), Stale("relay-12")};
  EXPECT_EQ(*RunContexts(parent_).List(), Names());
  for (const std::string& path : others) {
    EXPECT_TRUE(fs::exists(path + "/0/file")) << path;
  }
}

TEST_F(RunContextsTest, ASweepFollowsNoLinks) {
  const std::string elsewhere = base_ + "/elsewhere";
  fs::create_directory(elsewhere);
  std::ofstream(elsewhere + "/context.json") << "kept";
  ASSERT_EQ(mkdir(parent_.c_str(), 0700), 0);
  fs::create_directory_symlink(elsewhere, parent_ + "/run-1");
  const std::string stale = Stale("run-2");
  fs::create_directory_symlink(elsewhere, stale + "/1");
  EXPECT_EQ(*RunContexts(parent_).List(), Names());
  EXPECT_FALSE(fs::exists(stale));
  EXPECT_TRUE(fs::exists(elsewhere + "/context.json"));
  EXPECT_EQ(RunContexts(parent_).Load("run-1").code(), kErrNoPermissions);
}

TEST_F(RunContextsTest, ANewRunRemovesDirectoriesOfKilledRuns) {
  const std::string path = Stale("run-4194000");
  const Result<RunDirectory> run = RunDirectory::Make(parent_);
  ASSERT_TRUE(run.ok());
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(RunContextsTest, ASweepIsLimited) {
  for (int i = 1; i <= 5; ++i) Stale("run-" + std::to_string(4194000 + i));
  RunContexts(parent_).Sweep(2);
  EXPECT_EQ(std::distance(fs::directory_iterator(parent_), {}), 3);
}

TEST_F(RunContextsTest, ADirectoryThatOthersMayEnterIsRefused) {
  const RunDirectory run = Started();
  ASSERT_EQ(chmod(run.path().c_str(), 0755), 0);
  EXPECT_EQ(RunContexts(parent_).Load(run.name()).code(), kErrNoPermissions);
  ASSERT_EQ(chmod(parent_.c_str(), 0755), 0);
  EXPECT_EQ(RunContexts(parent_).List().code(), kErrNoPermissions);
}

TEST_F(RunContextsTest, ADamagedFileIsReportedAsDamaged) {
  const RunDirectory run = Started();
  for (const char* text : {"{", "[]", "{}", "\xff\xfe"}) {
    std::ofstream(run.path() + "/context.json") << text;
    const auto loaded = RunContexts(parent_).Load(run.name());
    ASSERT_FALSE(loaded.ok()) << text;
    EXPECT_NE(loaded.status().message().find("damaged"), std::string::npos);
  }
}

TEST_F(RunContextsTest, LoadsOnlyNamesOfRuns) {
  Stale("contexts");
  for (const char* name : {"contexts", "..", "../x", "run-1/..", ""}) {
    EXPECT_EQ(RunContexts(parent_).Load(name).code(), kErrNotFound) << name;
  }
}

}  // namespace
}  // namespace canopy::cli
