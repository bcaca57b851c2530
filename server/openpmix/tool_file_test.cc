#include "server/openpmix/tool_file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace canopy::openpmix {
namespace {

const ToolContact kContact = {"canopy-x", "the-uri", "/a/socket"};

std::string HostName() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

std::string ContentOf(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

void Put(const std::string& path, const std::string& content) {
  std::ofstream(path) << content;
}

std::string OfProcess(int pid) {
  return "uri\nv4.2.2\n" + std::to_string(pid) + "\n0:0\nnow\n";
}

class ToolFileTest : public testing::Test {
 protected:
  ToolFileTest() { EXPECT_NE(mkdtemp(directory_), nullptr); }
  ~ToolFileTest() override { std::filesystem::remove_all(directory_); }

  std::string At(const std::string& name) const {
    return std::string(directory_) + "/" + name;
  }
  std::string SystemFile() const { return At("pmix.sys." + HostName()); }
  Result<ToolFile> WriteSystem() const {
    return ToolFile::Write({"", directory_, "", ""}, kContact);
  }

  char directory_[32] = "/tmp/canopy-tool-XXXXXX";
};

// The server represents a server of another machine, for tools that name that
// host.
TEST_F(ToolFileTest, TheFileForAnotherHostHasTheSameContent) {
  ToolFilePlaces places;
  places.own_directory = directory_;
  places.other_host = "far.host";
  {
    const Result<ToolFile> file = ToolFile::Write(places, kContact);
    ASSERT_TRUE(file.ok());
    EXPECT_EQ(file->paths().size(), 4u);
    EXPECT_EQ(ContentOf(At("pmix.far.host.tool")),
              ContentOf(file->paths().front()));
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
  for (const std::string& name :
       {HostName(), std::string("../far"), std::string(300, 'x')}) {
    places.other_host = name;
    const Result<ToolFile> file = ToolFile::Write(places, kContact);
    ASSERT_TRUE(file.ok()) << name;
    EXPECT_EQ(file->paths().size(), 3u) << name;
  }
}

TEST_F(ToolFileTest, TheFilesContainTheAddressAndAreRemovedAtTheEnd) {
  std::vector<std::string> paths;
  {
    Result<ToolFile> written =
        ToolFile::Write({directory_, "", "", ""}, kContact);
    ASSERT_TRUE(written.ok()) << written.status().message();
    const ToolFile file = *std::move(written);
    paths = file.paths();
    const std::string name = At("pmix." + HostName() + ".tool");
    EXPECT_EQ(paths, (std::vector<std::string>{
                         name, name + "." + std::to_string(getpid()),
                         name + ".canopy-x"}));
    for (const std::string& path : paths) {
      struct stat info;
      ASSERT_EQ(stat(path.c_str(), &info), 0) << path;
      EXPECT_EQ(info.st_mode & 0777, 0600u);
      EXPECT_EQ(info.st_uid, geteuid());
      const std::string content = ContentOf(path);
      EXPECT_TRUE(content.starts_with("the-uri\nv4.2.2\n" +
                                      std::to_string(getpid()) + "\n"))
          << content;
      EXPECT_TRUE(content.ends_with("\ncanopy:/a/socket\n")) << content;
    }
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

TEST_F(ToolFileTest, TheUmaskLimitsTheReadersOfASharedServersFiles) {
  ToolFilePlaces places;
  places.own_directory = directory_;
  places.for_all_users = true;
  for (const mode_t mask : {0022, 0027, 0077}) {
    const mode_t former = umask(mask);
    const Result<ToolFile> file = ToolFile::Write(places, kContact);
    umask(former);
    ASSERT_TRUE(file.ok());
    for (const std::string& path : file->paths()) {
      struct stat info;
      ASSERT_EQ(stat(path.c_str(), &info), 0) << path;
      EXPECT_EQ(info.st_mode & 0777, 0644u & ~mask);
    }
  }
}

TEST_F(ToolFileTest, AFileThatReplacedTheServersFileIsKept) {
  {
    Result<ToolFile> written = WriteSystem();
    ASSERT_TRUE(written.ok()) << written.status().message();
    const ToolFile file = *std::move(written);
    Put(At("next"), "the next server's");
    rename(At("next").c_str(), SystemFile().c_str());
  }
  EXPECT_EQ(ContentOf(SystemFile()), "the next server's");
}

TEST_F(ToolFileTest, ASecondSystemServerOfTheMachineIsRefused) {
  const pid_t other = fork();
  if (other == 0) {
    pause();
    _exit(0);
  }
  Put(SystemFile(), OfProcess(other));
  const Result<ToolFile> refused = WriteSystem();
  EXPECT_EQ(refused.code(), kErrExists);
  EXPECT_NE(refused.status().message().find(std::to_string(other)),
            std::string::npos)
      << refused.status().message();
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
  // A server that is gone has left the file.
  const Result<ToolFile> written = WriteSystem();
  ASSERT_TRUE(written.ok()) << written.status().message();
  EXPECT_TRUE(ContentOf(SystemFile()).starts_with("the-uri\n"));
  EXPECT_EQ(written->paths(), std::vector<std::string>{SystemFile()});
  // This process may have left the file before a handover.
  EXPECT_TRUE(WriteSystem().ok());
}

TEST_F(ToolFileTest, NothingIsWrittenThroughALink) {
  Put(At("target"), "precious");
  for (const std::string& path : {SystemFile(), At("launcher")}) {
    ASSERT_EQ(symlink(At("target").c_str(), path.c_str()), 0);
  }
  {
    const Result<ToolFile> written = WriteSystem();
    EXPECT_TRUE(written.ok()) << written.status().message();
  }
  EXPECT_EQ(ToolFile::Write({"", "", At("launcher"), ""}, kContact).code(),
            kErrExists);
  EXPECT_EQ(ContentOf(At("target")), "precious");
}

TEST_F(ToolFileTest, FilesWithoutALiveServerAreReplaced) {
  ASSERT_EQ(mkfifo(SystemFile().c_str(), 0600), 0);
  EXPECT_TRUE(WriteSystem().ok());
  for (const char* content : {"", "\n", "a\nb", "a\nb\n-1\n", "a\nb\nx"}) {
    Put(SystemFile(), content);
    EXPECT_TRUE(WriteSystem().ok()) << content;
  }
}

TEST_F(ToolFileTest, OnlyRootReplacesAFileOfAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  ASSERT_EQ(chmod(directory_, 01777), 0);
  Put(SystemFile(), OfProcess(1));
  ASSERT_EQ(chown(SystemFile().c_str(), 65534, 65534), 0);
  // Root replaces a file of another user even if the file names a process that
  // is alive.
  EXPECT_TRUE(WriteSystem().ok());
  Put(SystemFile(), OfProcess(1));
  const pid_t other = fork();
  if (other == 0) {
    const bool lowered = setegid(65533) == 0 && seteuid(65533) == 0;
    _exit(lowered && WriteSystem().code() == kErrNoPermissions ? 0 : 1);
  }
  int status = 1;
  waitpid(other, &status, 0);
  EXPECT_EQ(status, 0);
}

// The host has named a directory that belongs to a user. A server that runs as
// root also writes its files there, but has its own directory elsewhere.
TEST_F(ToolFileTest, FilesInAUsersDirectoryBelongToTheUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root acts for others";
  constexpr uid_t kUid = 12345;
  const std::string target = At("target");
  ToolFilePlaces places;
  places.own_directory = At("own");
  places.users_directory = At("users");
  places.system_directory = At("users");
  places.launcher_file = At("users/launcher");
  ASSERT_EQ(chmod(directory_, 0755), 0);
  for (const std::string& path :
       {target, places.own_directory, places.users_directory}) {
    ASSERT_EQ(mkdir(path.c_str(), 0700), 0);
  }
  ASSERT_EQ(chown(places.users_directory.c_str(), kUid, kUid), 0);
  {
    const Result<ToolFile> file = ToolFile::Write(places, kContact);
    ASSERT_TRUE(file.ok()) << file.status().message();
    EXPECT_EQ(file->paths().size(), 8u);
    for (const std::string& path : file->paths()) {
      struct stat info;
      ASSERT_EQ(stat(path.c_str(), &info), 0) << path;
      EXPECT_EQ(info.st_uid, path.starts_with(At("own")) ? 0 : kUid) << path;
      EXPECT_TRUE(ContentOf(path).starts_with("the-uri\n")) << path;
    }
    // The files are removed even from a directory that the user has moved.
    ASSERT_EQ(rename(At("users").c_str(), At("former").c_str()), 0);
    ASSERT_EQ(symlink(target.c_str(), At("users").c_str()), 0);
    ASSERT_EQ(lchown(At("users").c_str(), kUid, kUid), 0);
    // The server does not follow the user's link into a directory of root.
    EXPECT_EQ(ToolFile::Write(places, kContact).code(), kErrNoPermissions);
  }
  for (const char* name : {"own", "former", "target"}) {
    EXPECT_TRUE(std::filesystem::is_empty(At(name))) << name;
  }
}

TEST_F(ToolFileTest, TheLaunchersFileMustNotExist) {
  {
    const Result<ToolFile> written =
        ToolFile::Write({"", "", At("launcher"), ""}, kContact);
    ASSERT_TRUE(written.ok()) << written.status().message();
    EXPECT_TRUE(ContentOf(At("launcher")).starts_with("the-uri\n"));
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

TEST_F(ToolFileTest, FilesOfAnAgentThatIsGoneAreRemoved) {
  for (const char* name : {"pmix.host.tool", "pmix.host.tool.1",
                           "pmix.host.tool.canopy-x", "pmix.sys.host"}) {
    Put(At(name), "x");
  }
  Put(At("agent.state"), "x");
  ToolFile::RemoveAll(directory_);
  EXPECT_TRUE(std::filesystem::exists(At("agent.state")));
  std::filesystem::remove(At("agent.state"));
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
  ToolFile::RemoveAll("/nowhere/at/all");
}

TEST_F(ToolFileTest, AMissingDirectoryIsAnError) {
  EXPECT_FALSE(ToolFile::Write({"/nowhere/at/all", "", "", ""}, kContact).ok());
  EXPECT_FALSE(ToolFile::Write({"", "/nowhere/at/all", "", ""}, kContact).ok());
}

}  // namespace
}  // namespace canopy::openpmix
