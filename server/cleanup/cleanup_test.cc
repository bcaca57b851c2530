#include "server/cleanup/cleanup.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "common/codec/infos.h"
#include "common/posix/run_as_user.h"
#include "pmix_common.h"

namespace canopy::cleanup {
namespace {

namespace fs = std::filesystem;

class CleanupTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/canopy-cleanup-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    root_ = name;
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string MakeFile(const std::string& name) {
    fs::path path = root_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "x";
    return path;
  }

  Status Register(Rank rank, const InfoList& info,
                  std::vector<ProcId> targets = {}) {
    std::string encoded;
    EXPECT_EQ(EncodeInfos(info.data(), info.size(), &encoded), kSuccess);
    core::AskHost request;
    request.source = {"job", rank};
    request.uid = user_.uid;
    request.gid = user_.gid;
    request.targets = std::move(targets);
    request.call = Bytes(std::move(encoded));
    return registry_.Control(request);
  }

  fs::path root_;
  FileUser user_ = {geteuid(), getegid()};
  // The limit is so long that removals are over when the calls return.
  CleanupRegistry registry_{{.wait = std::chrono::minutes(1)}};
};

TEST_F(CleanupTest, FilesAreRemovedWhenTheirProcessEnds) {
  const std::string mine = MakeFile("mine");
  const std::string other = MakeFile("other");
  InfoList info;
  info.Add(PMIX_REGISTER_CLEANUP, Value::String(mine));
  ASSERT_TRUE(Register(0, info).ok());
  registry_.OnLocalExits({"job", {{.rank = 1}}});
  EXPECT_TRUE(fs::exists(mine));
  registry_.OnLocalExits({"job", {{.rank = 0}}});
  EXPECT_FALSE(fs::exists(mine));
  EXPECT_TRUE(fs::exists(other));
}

TEST_F(CleanupTest, RecursiveRemovalDoesNotFollowLinks) {
  MakeFile("dir/a");
  MakeFile("dir/sub/b");
  const std::string outside = MakeFile("outside/keep");
  fs::create_directory_symlink(root_ / "outside", root_ / "dir/link");
  InfoList info;
  info.Add(PMIX_REGISTER_CLEANUP_DIR, Value::String((root_ / "dir").string()));
  info.Add(PMIX_CLEANUP_RECURSIVE, Value::Bool(true));
  ASSERT_TRUE(Register(0, info).ok());
  registry_.DropJob("job");
  EXPECT_FALSE(fs::exists(root_ / "dir"));
  EXPECT_TRUE(fs::exists(outside));
}

TEST_F(CleanupTest, ASharedPathIsRemovedWithTheLastProcess) {
  const std::string shared = MakeFile("shared");
  InfoList info;
  info.Add(PMIX_REGISTER_CLEANUP, Value::String(shared));
  ASSERT_TRUE(Register(0, info).ok());
  ASSERT_TRUE(Register(1, info).ok());
  registry_.OnLocalExits({"job", {{.rank = 0}}});
  EXPECT_TRUE(fs::exists(shared));
  registry_.OnLocalExits({"job", {{.rank = 1}}});
  EXPECT_FALSE(fs::exists(shared));
}

TEST_F(CleanupTest, ACleanupOfADirectoryKeepsSubdirectoriesAndIgnoredPaths) {
  const std::string deep = MakeFile("dir/sub/b");
  const std::string kept = MakeFile("dir/kept");
  const std::string gone = MakeFile("dir/gone");
  InfoList info;
  info.Add(PMIX_REGISTER_CLEANUP_DIR, Value::String((root_ / "dir").string()));
  info.Add(PMIX_CLEANUP_IGNORE, Value::String(kept));
  info.Add(PMIX_CLEANUP_LEAVE_TOPDIR, Value::Bool(true));
  ASSERT_TRUE(Register(0, info).ok());
  registry_.DropJob("job");
  EXPECT_TRUE(fs::exists(deep));
  EXPECT_TRUE(fs::exists(kept));
  EXPECT_FALSE(fs::exists(gone));
}

TEST_F(CleanupTest, EveryPathOfARequestIsRemoved) {
  const std::string first = MakeFile("first");
  const std::string second = MakeFile("second");
  InfoList info;
  info.Add(PMIX_REGISTER_CLEANUP, Value::String(first));
  info.Add(PMIX_REGISTER_CLEANUP, Value::String(second));
  ASSERT_TRUE(Register(0, info).ok());
  registry_.OnLocalExits({"job", {{.rank = 0}}});
  EXPECT_FALSE(fs::exists(first));
  EXPECT_FALSE(fs::exists(second));
}

TEST_F(CleanupTest, APathRegisteredTwiceByOneProcessIsRemovedWithIt) {
  const std::string mine = MakeFile("mine");
  InfoList info;
  info.Add(PMIX_REGISTER_CLEANUP, Value::String(mine + "," + mine));
  ASSERT_TRUE(Register(0, info).ok());
  ASSERT_TRUE(Register(0, info).ok());
  registry_.OnLocalExits({"job", {{.rank = 0}}});
  EXPECT_FALSE(fs::exists(mine));
}

TEST_F(CleanupTest, TheRegistrationsOfOneProcessAreLimited) {
  InfoList large;
  large.Add(PMIX_REGISTER_CLEANUP,
            Value::String("/" + std::string(kMaxCost, 'x')));
  EXPECT_EQ(Register(0, large).code(), kErrOutOfResource);
  InfoList half;
  half.Add(PMIX_REGISTER_CLEANUP,
           Value::String("/" + std::string(kMaxCost / 2, 'x')));
  EXPECT_TRUE(Register(0, half).ok());
  EXPECT_EQ(Register(0, half).code(), kErrOutOfResource);
  EXPECT_TRUE(Register(1, half).ok());
  std::string many;
  for (int i = 0; i < 100000; ++i) many += "/a,";
  InfoList short_ones;
  short_ones.Add(PMIX_REGISTER_CLEANUP, Value::String(many));
  EXPECT_EQ(Register(2, short_ones).code(), kErrOutOfResource);
}

TEST_F(CleanupTest, AProcessCannotRegisterForAnother) {
  InfoList info;
  info.Add(PMIX_REGISTER_CLEANUP, Value::String(MakeFile("mine")));
  EXPECT_TRUE(Register(0, info, {{"job", 0}}).ok());
  EXPECT_TRUE(Register(0, info, {{"job", kRankWildcard}}).ok());
  for (const ProcId& other :
       {ProcId{"job", 1}, ProcId{"other", 0}, ProcId{"other", kRankWildcard}}) {
    EXPECT_EQ(Register(0, info, {other}).code(), kErrNotSupported);
  }
}

TEST_F(CleanupTest, RequestsWithoutAValidPathAreRejected) {
  InfoList none;
  none.Add(PMIX_CLEANUP_RECURSIVE, Value::Bool(true));
  EXPECT_EQ(Register(0, none).code(), kErrBadParam);
  InfoList relative;
  relative.Add(PMIX_REGISTER_CLEANUP, Value::String("etc/passwd"));
  EXPECT_EQ(Register(0, relative).code(), kErrBadParam);
  InfoList root;
  root.Add(PMIX_REGISTER_CLEANUP_DIR, Value::String("/"));
  EXPECT_EQ(Register(0, root).code(), kErrBadParam);
  InfoList conflict;
  conflict.Add(PMIX_REGISTER_CLEANUP, Value::String("/tmp/x"));
  conflict.Add(PMIX_CLEANUP_IGNORE, Value::String("/tmp/x"));
  EXPECT_EQ(Register(0, conflict).code(), kErrConflictingCleanupDirectives);
}

TEST_F(CleanupTest, AnotherUserCannotRegisterForTheSameProcess) {
  InfoList info;
  info.Add(PMIX_REGISTER_CLEANUP, Value::String(MakeFile("mine")));
  EXPECT_TRUE(Register(0, info).ok());
  user_.uid = 54321;
  EXPECT_EQ(Register(0, info).code(), kErrNoPermissions);
  EXPECT_TRUE(Register(1, info).ok());
}

// A server that runs as root, and processes of a user that register paths in
// the user's directory.
class CleanupAsRootTest : public CleanupTest {
 protected:
  static constexpr uid_t kUid = 12345;

  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root acts for others";
    CleanupTest::SetUp();
    fs::permissions(root_, fs::perms(0755));
    user_ = {kUid, kUid};
    MakeFile("target/file");
    fs::create_directories(root_ / "target/empty");
    MakeUsers("users/");
  }
  void TearDown() override {
    if (geteuid() == 0) CleanupTest::TearDown();
  }

  // Creates a directory if the name ends with a slash, and otherwise a file;
  // both belong to the user.
  std::string MakeUsers(const std::string& name) {
    const fs::path path = root_ / name;
    if (name.ends_with('/')) {
      fs::create_directories(path);
    } else {
      MakeFile(name);
    }
    EXPECT_EQ(lchown(path.c_str(), kUid, kUid), 0);
    return path;
  }
  void LinkUsers(const std::string& name, const std::string& target) {
    const fs::path path = root_ / name;
    fs::create_symlink(root_ / target, path);
    EXPECT_EQ(lchown(path.c_str(), kUid, kUid), 0);
  }
  bool Has(const std::string& name) const {
    return fs::exists(fs::symlink_status(root_ / name));
  }
  void RegisterAndEnd(const std::string& files,
                      const std::string& directories) {
    InfoList info;
    if (!files.empty()) {
      info.Add(PMIX_REGISTER_CLEANUP, Value::String((root_ / files).string()));
    }
    if (!directories.empty()) {
      info.Add(PMIX_REGISTER_CLEANUP_DIR,
               Value::String((root_ / directories).string()));
      info.Add(PMIX_CLEANUP_RECURSIVE, Value::Bool(true));
    }
    ASSERT_TRUE(Register(0, info).ok());
    registry_.OnLocalExits({"job", {{.rank = 0}}});
  }
};

TEST_F(CleanupAsRootTest, PathsOfTheUserAreRemoved) {
  MakeUsers("users/file");
  MakeUsers("users/dir/");
  MakeUsers("users/dir/file");
  RegisterAndEnd("users/file", "users/dir");
  EXPECT_FALSE(Has("users/file"));
  EXPECT_FALSE(Has("users/dir"));
}

TEST_F(CleanupAsRootTest, PathsThatTheUserCouldNotRemoveAreKept) {
  MakeUsers("target/theirs");
  MakeUsers("target/dir/");
  MakeUsers("target/dir/file");
  RegisterAndEnd("target/theirs", "target/dir");
  EXPECT_TRUE(Has("target/theirs")) << "in root's directory";
  EXPECT_TRUE(Has("target/dir")) << "in root's directory";
  EXPECT_FALSE(Has("target/dir/file"));
}

TEST_F(CleanupAsRootTest, FilesOfRootInTheUsersDirectoryAreKept) {
  MakeFile("users/roots");
  MakeUsers("users/dir/");
  MakeFile("users/dir/roots");
  RegisterAndEnd("users/roots", "users/dir");
  EXPECT_TRUE(Has("users/roots"));
  EXPECT_TRUE(Has("users/dir/roots"));
}

TEST_F(CleanupAsRootTest, PathsThatOnlyRootCouldReachThroughALinkAreKept) {
  LinkUsers("users/link", "target");
  RegisterAndEnd("users/link/file", "users/link/empty");
  EXPECT_TRUE(Has("target/file"));
  EXPECT_TRUE(Has("target/empty"));
}

TEST_F(CleanupAsRootTest, PathsOfRootAreRemovedForRoot) {
  user_ = {0, 0};
  MakeFile("roots/file");
  MakeFile("roots/dir/file");
  RegisterAndEnd("roots/file", "roots/dir");
  EXPECT_FALSE(Has("roots/file"));
  EXPECT_FALSE(Has("roots/dir"));
}

TEST_F(CleanupAsRootTest, RemovalForRootDoesNotFollowAUsersLink) {
  user_ = {0, 0};
  fs::permissions(root_ / "target", fs::perms(0700));
  LinkUsers("users/link", "target");
  RegisterAndEnd("users/link/file", "users/link/empty");
  EXPECT_TRUE(Has("target/file"));
  EXPECT_TRUE(Has("target/empty"));
}

}  // namespace
}  // namespace canopy::cleanup
