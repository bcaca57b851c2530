#include "server/openpmix/tool_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace canopy::openpmix {
namespace {

std::string HostName() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

void ExpectContent(const std::string& path) {
  struct stat info;
  ASSERT_EQ(stat(path.c_str(), &info), 0) << path;
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  std::ifstream in(path);
  for (const std::string& expected :
       {std::string("the-uri"), std::string("v4.2.2"),
        std::to_string(getpid())}) {
    std::string line;
    std::getline(in, line);
    EXPECT_EQ(line, expected);
  }
  const std::string rest{std::istreambuf_iterator<char>(in), {}};
  EXPECT_TRUE(rest.ends_with("\ncanopy:/a/socket\n")) << rest;
}

TEST(ToolFile, TellsTheAddressAndGoes) {
  const std::string directory = testing::TempDir();
  std::vector<std::string> paths;
  {
    Result<ToolFile> written =
        ToolFile::Write(directory, "the-uri", "/a/socket");
    ASSERT_TRUE(written.ok()) << written.status().message();
    const ToolFile file = *std::move(written);
    paths = file.paths();
    EXPECT_EQ(paths, (std::vector<std::string>{
                         directory + "/pmix." + HostName() + ".tool." +
                             std::to_string(getpid()),
                         directory + "/pmix.sys." + HostName()}));
    for (const std::string& path : paths) ExpectContent(path);
  }
  for (const std::string& path : paths) {
    EXPECT_NE(access(path.c_str(), F_OK), 0) << path;
  }
}

TEST(ToolFile, ThoseOfAnAgentThatIsGone) {
  const std::string directory = testing::TempDir() + "/gone";
  mkdir(directory.c_str(), 0700);
  const std::string other = directory + "/agent.state";
  for (const std::string& path :
       {directory + "/pmix.host.tool.1", directory + "/pmix.sys.host", other}) {
    std::ofstream(path) << "x";
  }
  ToolFile::RemoveAll(directory);
  EXPECT_EQ(access(other.c_str(), F_OK), 0);
  unlink(other.c_str());
  EXPECT_EQ(rmdir(directory.c_str()), 0);
  ToolFile::RemoveAll("/nowhere/at/all");
}

TEST(ToolFile, ADirectoryThatIsNotThere) {
  EXPECT_FALSE(ToolFile::Write("/nowhere/at/all", "uri", "").ok());
}

}  // namespace
}  // namespace canopy::openpmix
