#include "client/abi/server_directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <optional>

namespace canopy::client {
namespace {

bool Exists(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0;
}

TEST(ServerDirectory, IsRemovedWithWhatIsInIt) {
  auto made = ServerDirectory::Make(testing::TempDir(), false);
  ASSERT_TRUE(made.ok());
  std::optional<ServerDirectory> directory(*std::move(made));
  const std::string path = directory->path();
  std::ofstream(path + "/file") << "text";
  ASSERT_TRUE(Exists(path + "/file"));
  directory.reset();
  EXPECT_FALSE(Exists(path));
}

TEST(ServerDirectory, OthersMayListItIfTheyAreTo) {
  for (const bool listed : {false, true}) {
    const auto made = ServerDirectory::Make(testing::TempDir(), listed);
    ASSERT_TRUE(made.ok());
    EXPECT_EQ(std::filesystem::status(made->path()).permissions(),
              std::filesystem::perms(listed ? 0755 : 0711));
  }
}

TEST(ServerDirectory, IsSomewhereElseWhereNamesAreTooLong) {
  auto made = ServerDirectory::Make("/tmp/" + std::string(90, 'x'), false);
  ASSERT_TRUE(made.ok());
  EXPECT_TRUE(made->path().starts_with("/tmp/canopy-"));
}

TEST(ServerDirectory, SaysWhyThereIsNone) {
  const auto made = ServerDirectory::Make("/no/such/directory", false);
  EXPECT_EQ(made.code(), kErrNoPermissions);
  EXPECT_NE(made.status().message().find("/no/such"), std::string::npos);
}

}  // namespace
}  // namespace canopy::client
