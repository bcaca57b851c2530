#include "client/cli/context/run_directory.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "client/cli/context/context.pb.h"
#include "common/posix/host_name.h"

namespace canopy::cli {
namespace {

namespace fs = std::filesystem;

class RunDirectoryTest : public testing::Test {
 protected:
  RunDirectoryTest() {
    base_ = testing::TempDir() + "/rundirXXXXXX";
    EXPECT_NE(mkdtemp(base_.data()), nullptr);
    parent_ = base_ + "/canopy-" + std::to_string(geteuid());
  }
  ~RunDirectoryTest() override { fs::remove_all(base_); }

  static mode_t ModeOf(const std::string& path) {
    struct stat info = {};
    EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
    return info.st_mode & 07777;
  }

  std::string base_;
  std::string parent_;
};

TEST_F(RunDirectoryTest, IsPrivateAndHasThePidInItsName) {
  const Result<RunDirectory> made = RunDirectory::Make(parent_);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made->name(), "run-" + std::to_string(getpid()));
  EXPECT_EQ(made->path(), parent_ + "/" + made->name());
  EXPECT_EQ(ModeOf(parent_), 0700u);
  EXPECT_EQ(ModeOf(made->path()), 0700u);
}

TEST_F(RunDirectoryTest, TheDestructorRemovesTheDirectoryWithItsContent) {
  std::optional<RunDirectory> run(*RunDirectory::Make(parent_));
  fs::create_directory(run->path() + "/0");
  std::ofstream(run->path() + "/0/file") << "of an agent";
  run.reset();
  EXPECT_TRUE(fs::is_empty(base_));
}

// The name is already used, for example by a process with the same PID in
// another PID namespace.
TEST_F(RunDirectoryTest, AUsedNameIsAvoided) {
  const Result<RunDirectory> first = RunDirectory::Make(parent_);
  std::optional<RunDirectory> second(*RunDirectory::Make(parent_));
  EXPECT_EQ(second->name(), first->name() + "-2");
  second.reset();
  EXPECT_TRUE(fs::exists(first->path()));
}

TEST_F(RunDirectoryTest, AnotherRunOfTheSameNameIsNotRemoved) {
  std::optional<RunDirectory> first(*RunDirectory::Make(parent_));
  const std::string path = first->path();
  // The first run's agents have removed its directory, and another run uses the
  // name.
  fs::remove_all(path);
  const Result<RunDirectory> second = RunDirectory::Make(parent_);
  ASSERT_EQ(second->path(), path);
  first.reset();
  EXPECT_TRUE(fs::exists(path));
}

TEST_F(RunDirectoryTest, RefusesAParentThatOthersCanWrite) {
  fs::create_directory(parent_);
  ASSERT_EQ(chmod(parent_.c_str(), 0777), 0);
  EXPECT_EQ(RunDirectory::Make(parent_).code(), kErrNoPermissions);
  EXPECT_TRUE(fs::is_empty(parent_));
}

TEST_F(RunDirectoryTest, OnlyTheUserCanReadTheContextUntilItIsWithdrawn) {
  const Result<RunDirectory> run = RunDirectory::Make(parent_);
  v1::Context context;
  context.set_name(run->name());
  ASSERT_TRUE(run->Publish(context).ok());
  const std::string file = run->path() + "/context.json";
  EXPECT_EQ(ModeOf(file), 0600u);
  run->Withdraw();
  EXPECT_FALSE(fs::exists(file));
}

TEST_F(RunDirectoryTest, ToolsFindTheAgentByTheLaunchersPid) {
  const Result<RunDirectory> run = RunDirectory::Make(parent_);
  const std::string agent = run->path() + "/0";
  EXPECT_EQ(run->OfferToTools(agent).code(), kErrNotFound);
  fs::create_directory(agent);
  const std::string name = "/pmix." + LocalHostName() + ".tool";
  std::ofstream(agent + name) << "agents.0;tcp4://127.0.0.1:4711\n";
  ASSERT_TRUE(run->OfferToTools(agent).ok());
  std::ifstream in(run->path() + name + "." + std::to_string(getpid()));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}),
            "agents.0;tcp4://127.0.0.1:4711\n");
}

TEST_F(RunDirectoryTest, ThePublishedContextCanBeReplaced) {
  const Result<RunDirectory> run = RunDirectory::Make(parent_);
  v1::Context context;
  context.set_name("first");
  ASSERT_TRUE(run->Publish(context).ok());
  context.set_name("second");
  ASSERT_TRUE(run->Update(context).ok());
  std::string all;
  for (const auto& entry : fs::directory_iterator(run->path())) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path());
    all.append(std::istreambuf_iterator<char>(file), {});
  }
  EXPECT_NE(all.find("second"), std::string::npos);
  EXPECT_EQ(all.find("first"), std::string::npos);
}

}  // namespace
}  // namespace canopy::cli
