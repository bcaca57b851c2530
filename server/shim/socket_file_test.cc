#include "server/shim/socket_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace canopy::process {
namespace {

class SocketFileTest : public testing::Test {
 protected:
  SocketFileTest() {
    // The path is too long for a socket's address.
    root_ = testing::TempDir() + "/" + std::string(100, 'd') + "XXXXXX";
    EXPECT_NE(mkdtemp(root_.data()), nullptr);
    directory_ = std::move(*OpenDirectory(root_));
  }
  ~SocketFileTest() override { std::filesystem::remove_all(root_); }

  bool Exists() const { return std::filesystem::exists(root_ + "/s"); }
  SocketFile File() {
    return SocketFile(std::move(*OpenDirectory(root_)), "s");
  }

  std::string root_;
  UniqueFd directory_;
};

TEST_F(SocketFileTest, AConnectionCanBeMadeWhileAListenerExists) {
  EXPECT_EQ(ConnectAt(directory_.get(), "s").code(), kErrCommFailure);
  Result<UniqueFd> listener = ListenAt(directory_.get(), "s");
  ASSERT_TRUE(listener.ok());
  EXPECT_TRUE(ConnectAt(directory_.get(), "s").ok());
  EXPECT_FALSE(ListenAt(directory_.get(), "s").ok());
  listener->Reset();
  EXPECT_EQ(ConnectAt(directory_.get(), "s").code(), kErrUnreach);
}

TEST_F(SocketFileTest, RemovesOnlyItsOwnFile) {
  const Result<UniqueFd> first = ListenAt(directory_.get(), "s");
  SocketFile file = File();
  std::filesystem::rename(root_ + "/s", root_ + "/moved");
  const Result<UniqueFd> second = ListenAt(directory_.get(), "s");
  file.Remove();
  EXPECT_TRUE(Exists());
  file.Remove();
  EXPECT_TRUE(Exists());
  File().Remove();
  EXPECT_FALSE(Exists());
}

TEST_F(SocketFileTest, RemovesOnlySockets) {
  std::ofstream(root_ + "/s") << "precious";
  File().Remove();
  EXPECT_TRUE(Exists());
}

TEST_F(SocketFileTest, AMissingDirectoryIsAnError) {
  EXPECT_FALSE(OpenDirectory(root_ + "/none").ok());
}

}  // namespace
}  // namespace canopy::process
