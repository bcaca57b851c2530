#include "server/kubernetes/device_plugin/plugin_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/posix/unix_socket.h"

namespace canopy::kubernetes {
namespace {

namespace fs = std::filesystem;

class PluginSocketTest : public testing::Test {
 protected:
  PluginSocketTest() {
    std::string path = "/tmp/plugin-socket-XXXXXX";
    EXPECT_NE(mkdtemp(path.data()), nullptr);
    directory_ = path;
    path_ = path + "/canopy.sock";
    socket_ = Make();
  }
  ~PluginSocketTest() override {
    socket_.reset();
    fs::remove_all(directory_);
  }

  std::unique_ptr<PluginSocket> Make() {
    return std::make_unique<PluginSocket>(&loop_, path_, [this](UniqueFd fd) {
      connections_.push_back(std::move(fd));
    });
  }
  // Returns true if a connection to the path is accepted by `socket_`.
  bool Connects() {
    Result<UniqueFd> client = ConnectUnix(path_);
    if (!client.ok()) return false;
    clients_.push_back(*std::move(client));
    const size_t before = connections_.size();
    loop_.RunOnce(0);
    return connections_.size() > before;
  }
  ptrdiff_t Entries() const {
    return std::distance(fs::directory_iterator(directory_), {});
  }

  EventLoop loop_;
  fs::path directory_;
  std::string path_;
  std::vector<UniqueFd> connections_;
  std::vector<UniqueFd> clients_;
  std::unique_ptr<PluginSocket> socket_;
};

TEST_F(PluginSocketTest, ListensForItsUserUntilItIsClosed) {
  ASSERT_TRUE(socket_->Open().ok());
  struct stat info;
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 077, 0u);
  EXPECT_TRUE(Connects());
  EXPECT_EQ(Entries(), 1);
  socket_->Close();
  EXPECT_EQ(Entries(), 0);
  EXPECT_FALSE(Connects());
}

TEST_F(PluginSocketTest, ReplacesWhatAPredecessorHasLeft) {
  std::ofstream(path_) << "no socket";
  ASSERT_TRUE(socket_->Open().ok());
  EXPECT_TRUE(Connects());
}

TEST_F(PluginSocketTest, RemovedFileIsMadeAnewAndConnectionsStay) {
  ASSERT_TRUE(socket_->Open().ok());
  ASSERT_TRUE(Connects());
  fs::remove(path_);
  EXPECT_FALSE(Connects());
  ASSERT_TRUE(socket_->Open().ok());
  EXPECT_TRUE(Connects());
  ASSERT_EQ(connections_.size(), 2u);
  EXPECT_EQ(send(clients_[0].get(), "x", 1, 0), 1);
  char byte = 0;
  EXPECT_EQ(read(connections_[0].get(), &byte, 1), 1);
}

TEST_F(PluginSocketTest, FileThatExistsIsNotMadeAnew) {
  ASSERT_TRUE(socket_->Open().ok());
  const auto before = IdentityOf(path_);
  ASSERT_TRUE(socket_->Open().ok());
  EXPECT_EQ(IdentityOf(path_), before);
}

TEST_F(PluginSocketTest, FileOfAnotherProcessIsLeftAlone) {
  ASSERT_TRUE(socket_->Open().ok());
  const auto other = ListenUnix(path_, 1);
  ASSERT_TRUE(other.ok());
  const auto file = IdentityOf(path_);
  EXPECT_EQ(socket_->Open().code(), kErrExists);
  EXPECT_EQ(IdentityOf(path_), file);
  socket_->Close();
  EXPECT_EQ(IdentityOf(path_), file);
}

TEST_F(PluginSocketTest, NumberOfOpenConnectionsIsLimited) {
  ASSERT_TRUE(socket_->Open().ok());
  for (size_t i = 0; i < PluginSocket::kMaxConnections; ++i) {
    EXPECT_TRUE(Connects());
  }
  EXPECT_FALSE(Connects());
  connections_.erase(connections_.begin());
  EXPECT_TRUE(Connects());
  EXPECT_FALSE(Connects());
}

TEST_F(PluginSocketTest, MissingDirectoryIsReported) {
  fs::remove_all(directory_);
  const Status status = socket_->Open();
  EXPECT_EQ(status.code(), kErrUnreach);
  EXPECT_NE(status.message().find(path_), std::string::npos);
  fs::create_directory(directory_);
  EXPECT_TRUE(socket_->Open().ok());
  EXPECT_TRUE(Connects());
}

}  // namespace
}  // namespace canopy::kubernetes
