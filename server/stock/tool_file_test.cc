#include "server/stock/tool_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <utility>

namespace canopy::stock {
namespace {

TEST(ToolFile, TellsTheAddressAndGoes) {
  std::string path;
  {
    Result<ToolFile> written = ToolFile::Write(testing::TempDir(), "the-uri");
    ASSERT_TRUE(written.ok()) << written.status().message();
    const ToolFile file = *std::move(written);
    path = file.path();
    EXPECT_TRUE(path.ends_with(".tool." + std::to_string(getpid())));
    struct stat info;
    ASSERT_EQ(stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u);
    std::ifstream in(path);
    std::string line;
    std::getline(in, line);
    EXPECT_EQ(line, "the-uri");
    std::getline(in, line);
    EXPECT_EQ(line, "v4.2.2");
    std::getline(in, line);
    EXPECT_EQ(line, std::to_string(getpid()));
  }
  EXPECT_NE(access(path.c_str(), F_OK), 0);
}

TEST(ToolFile, ADirectoryThatIsNotThere) {
  EXPECT_FALSE(ToolFile::Write("/nowhere/at/all", "uri").ok());
}

}  // namespace
}  // namespace canopy::stock
