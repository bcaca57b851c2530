#include "common/posix/unix_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <string>

namespace canopy {
namespace {

std::string TempPath(const std::string& name) {
  std::string dir = "/tmp/canopy-test-XXXXXX";
  EXPECT_NE(mkdtemp(dir.data()), nullptr);
  return dir + "/" + name;
}

void Remove(const std::string& path) {
  unlink(path.c_str());
  rmdir(path.substr(0, path.rfind('/')).c_str());
}

TEST(UnixSocketTest, TheSocketHasTheGivenModeWhateverTheUmask) {
  const mode_t before = umask(0077);
  for (const mode_t mode : {0666, 0600}) {
    const std::string path = TempPath("s");
    const auto listener = ListenUnix(path, 4, mode);
    ASSERT_TRUE(listener.ok()) << listener.status().message();
    struct stat info;
    ASSERT_EQ(stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, mode);
    Remove(path);
  }
  EXPECT_EQ(umask(before), 0077u);
}

TEST(UnixSocketTest, ConnectsAndIdentifiesThePeer) {
  const std::string path = TempPath("s");
  auto listener = ListenUnix(path, 4);
  ASSERT_TRUE(listener.ok()) << listener.status().message();
  struct stat info;
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  auto client = ConnectUnix(path);
  ASSERT_TRUE(client.ok());
  const UniqueFd server(accept(listener->get(), nullptr, nullptr));
  ASSERT_TRUE(server);
  auto peer = GetPeerCredentials(server.get());
  ASSERT_TRUE(peer.ok());
  EXPECT_EQ(peer->uid, getuid());
  EXPECT_EQ(peer->pid, getpid());
  EXPECT_TRUE(IsAlive(peer->pidfd));
  Remove(path);
}

TEST(UnixSocketTest, ReplacesTheSocketOfAnEarlierProcess) {
  const std::string path = TempPath("s");
  auto first = ListenUnix(path, 4);
  auto second = ListenUnix(path, 4);
  ASSERT_TRUE(second.ok()) << second.status().message();
  auto client = ConnectUnix(path);
  ASSERT_TRUE(client.ok());
  EXPECT_LT(accept(first->get(), nullptr, nullptr), 0);
  const UniqueFd server(accept(second->get(), nullptr, nullptr));
  EXPECT_TRUE(server);
  Remove(path);
}

TEST(UnixSocketTest, APathThatIsTooLongIsRejected) {
  EXPECT_EQ(ListenUnix("/tmp/" + std::string(200, 'x'), 4).code(),
            kErrBadParam);
  EXPECT_EQ(ConnectUnix("/tmp/" + std::string(200, 'x')).code(), kErrBadParam);
  EXPECT_EQ(ConnectUnix("/tmp/no/such/socket").code(), kErrUnreach);
}

}  // namespace
}  // namespace canopy
