#include "server/shim/program.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

namespace canopy::process {
namespace {

class ProgramTest : public testing::Test {
 protected:
  ProgramTest() {
    // The directory is not below the test's own, to which other users may have
    // no access.
    std::string pattern = "/tmp/programXXXXXX";
    root_ = mkdtemp(pattern.data());
    for (const char* name : {"/a", "/b", "/a/folder"}) {
      std::filesystem::create_directory(root_ + name);
    }
    Make("/b/tool", 0755);
    Make("/a/plain", 0644);
    Make("/b/plain", 0755);
  }
  ~ProgramTest() override { std::filesystem::remove_all(root_); }

  void Make(const std::string& name, mode_t mode) const {
    std::ofstream(root_ + name) << "x";
    chmod((root_ + name).c_str(), mode);
  }
  std::string Path() const { return root_ + "/a:" + root_ + "/b"; }
  static ProgramQuery Query(const std::string& program, const char* path) {
    ProgramQuery query;
    query.program = program;
    query.path = path;
    return query;
  }

  std::string root_;
};

TEST_F(ProgramTest, SearchesPathInOrder) {
  EXPECT_EQ(*FindProgram("tool", "", Path().c_str()), root_ + "/b/tool");
  // A file that cannot be executed is skipped.
  EXPECT_EQ(*FindProgram("plain", "", Path().c_str()), root_ + "/b/plain");
  EXPECT_EQ(FindProgram("folder", "", Path().c_str()).code(),
            kErrJobExeNotFound);
  EXPECT_EQ(FindProgram("tool", "", (root_ + "/a").c_str()).code(),
            kErrJobExeNotFound);
  EXPECT_EQ(FindProgram("plain", "", (root_ + "/a").c_str()).code(),
            kErrJobAppNotExecutable);
  EXPECT_EQ(*FindProgram("sh", "", nullptr), "/usr/bin/sh");
}

TEST_F(ProgramTest, RelativePathsAreResolvedInTheDirectory) {
  EXPECT_EQ(*FindProgram("b/tool", root_, nullptr), root_ + "/b/tool");
  EXPECT_EQ(*FindProgram("./tool", root_ + "/b/", nullptr),
            root_ + "/b/./tool");
  EXPECT_EQ(*FindProgram("tool", root_, "a:b"), root_ + "/b/tool");
  EXPECT_EQ(*FindProgram("tool", root_ + "/b", ""), root_ + "/b/./tool");
  EXPECT_EQ(*FindProgram(root_ + "/b/tool", "/", nullptr), root_ + "/b/tool");
}

TEST_F(ProgramTest, TheWorkingDirectoryIsSearchedAfterPath) {
  Make("/a/tool", 0755);
  const std::string b = root_ + "/b";
  EXPECT_EQ(*FindProgram("tool", root_ + "/a", b.c_str()), root_ + "/b/tool");
  EXPECT_EQ(*FindProgram("tool", root_ + "/b", "/none"), root_ + "/b/./tool");
  EXPECT_EQ(*FindProgram("tool", root_ + "/b", nullptr), root_ + "/b/./tool");
  EXPECT_EQ(FindProgram("plain", root_ + "/a", "/none").code(),
            kErrJobAppNotExecutable);
  EXPECT_EQ(FindProgram("folder", root_ + "/a", "/none").code(),
            kErrJobExeNotFound);
  EXPECT_EQ(FindProgram("none", root_ + "/a", "/none").status().message(),
            "program \"none\" not found in PATH \"/none\", nor in \"" + root_ +
                "/a\"; give its path, or a directory with --path");
}

TEST_F(ProgramTest, ErrorsDescribeTheReason) {
  EXPECT_EQ(FindProgram("", "", nullptr).code(), kErrJobNoExeSpecified);
  EXPECT_EQ(FindProgram("x", root_ + "/none", nullptr).code(),
            kErrJobWdirNotFound);
  EXPECT_EQ(FindProgram("x", root_ + "/b/tool", nullptr).code(),
            kErrJobWdirNotFound);
  EXPECT_EQ(FindProgram(root_ + "/a/plain", "", nullptr).code(),
            kErrJobAppNotExecutable);
  EXPECT_EQ(FindProgram(root_ + "/a", "", nullptr).code(),
            kErrJobAppNotExecutable);
  EXPECT_EQ(
      FindProgram("./none", root_, nullptr).status().message(),
      "program \"" + root_ +
          "/./none\": No such file or directory; it must be on every node");
  EXPECT_EQ(
      FindProgram(root_ + "/a", "", nullptr).status().message(),
      "program \"" + root_ + "/a\": Is a directory; name a program in it");
  EXPECT_EQ(
      FindProgram(root_ + "/a/plain", "", nullptr).status().message(),
      "program \"" + root_ +
          "/a/plain\": Permission denied; make it executable with chmod +x");
}

TEST_F(ProgramTest, SearchesAsAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can";
  chmod(root_.c_str(), 0755);
  Make("/b/private", 0700);
  const Credentials nobody = {12345, 12345, {12345}};
  const auto found = FindProgramsAs(
      nobody, {Query("tool", Path().c_str()), Query("sh", nullptr)});
  ASSERT_TRUE(found.ok()) << found.status().message();
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ((*found)[0].path, root_ + "/b/tool");
  EXPECT_EQ((*found)[1].path, "/usr/bin/sh");
  EXPECT_FALSE((*found)[0].finding.has_value());
  EXPECT_EQ(
      FindProgramsAs(nobody, {Query(root_ + "/b/private", nullptr)}).code(),
      kErrJobAppNotExecutable);
  EXPECT_EQ(geteuid(), 0u);
}

TEST_F(ProgramTest, DeterminesWhetherOurLibraryFits) {
  ProgramQuery query = Query("/proc/self/exe", nullptr);
  query.library = "/proc/self/exe";
  const auto found = FindPrograms({query});
  ASSERT_TRUE(found.ok());
  ASSERT_TRUE((*found)[0].finding.has_value());
  EXPECT_EQ((*found)[0].finding->fit, loader::LibraryFit::kNotLinked);
}

// A known finding is used while the files are the same, for any user.
TEST_F(ProgramTest, AKnownFindingIsUsedWhileItIsValid) {
  const std::string path = Path();
  ProgramQuery query = Query("tool", path.c_str());
  query.library = "/proc/self/exe";
  const auto first = FindPrograms({query});
  ASSERT_TRUE(first.ok());
  loader::LibraryFinding known = *(*first)[0].finding;
  EXPECT_EQ(known.reason, "");
  known.reason = "from memory";
  query.known_finding = loader::EncodeFinding(known);
  EXPECT_EQ((*FindPrograms({query}))[0].finding->reason, "from memory");
  if (geteuid() == 0) {
    chmod(root_.c_str(), 0755);
    const auto found = FindProgramsAs({12345, 12345, {12345}}, {query});
    ASSERT_TRUE(found.ok()) << found.status().message();
    EXPECT_EQ((*found)[0].finding->reason, "from memory");
  }
  // The finding applies neither to another program nor to a new file of that
  // name.
  ProgramQuery other = query;
  other.program = root_ + "/b/plain";
  EXPECT_EQ((*FindPrograms({other}))[0].finding->reason, "");
  std::filesystem::remove(root_ + "/b/tool");
  Make("/b/tool", 0755);
  EXPECT_EQ((*FindPrograms({query}))[0].finding->reason, "");
}

TEST(DescribeSpawnFailure, TheTextNamesTheCauseOfTheFailure) {
  const auto describe = [](SpawnStep step, int error) {
    return DescribeSpawnFailure(step, error, "/p", "/d", "0-3");
  };
  EXPECT_EQ(describe(SpawnStep::kExec, ENOENT).code(), kErrJobExeNotFound);
  EXPECT_EQ(describe(SpawnStep::kExec, ENOENT).message(),
            "program \"/p\": its interpreter (#! or dynamic loader) is not on "
            "this node");
  EXPECT_EQ(describe(SpawnStep::kExec, EACCES).code(), kErrJobAppNotExecutable);
  EXPECT_EQ(describe(SpawnStep::kExec, E2BIG).message(),
            "program \"/p\": Argument list too long");
  EXPECT_EQ(describe(SpawnStep::kExec, E2BIG).code(), kErrJobSysOpFailed);
  EXPECT_EQ(describe(SpawnStep::kExec, ENOEXEC).code(), kErrJobFailedToLaunch);
  EXPECT_EQ(describe(SpawnStep::kDirectory, EACCES).code(),
            kErrJobWdirNotAccessible);
  EXPECT_EQ(describe(SpawnStep::kBind, EINVAL).message(),
            "cannot bind to CPUs 0-3: Invalid argument");
  EXPECT_EQ(describe(SpawnStep::kDescriptors, EMFILE).code(),
            kErrSysLimitsFiles);
  EXPECT_EQ(describe(SpawnStep::kClone, EAGAIN).code(), kErrJobSysOpFailed);
}

}  // namespace
}  // namespace canopy::process
