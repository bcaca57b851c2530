#include "server/scheduler/owner.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace canopy::scheduler {
namespace {

constexpr char kTable[] =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when "
    "retrnsmt   uid  timeout inode\n"
    "   0: 0100007F:1B58 00000000:0000 0A 00000000:00000000 00:00000000 "
    "00000000  1000        0 1 1 0 100 0 0 10 0\n"
    "   1: 0100007F:1B58 0100007F:9999 01 00000000:00000000 00:00000000 "
    "00000000  1001        0 2 1 0 20 4 30 10 -1\n"
    "   2: 00000000000000000000000001000000:1B59 "
    "00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 "
    "00000000     0        0 3 1 0 100 0 0 10 0\n"
    "nonsense\n";

TEST(OwnerTest, ReturnsTheListenersOfThePort) {
  EXPECT_EQ(ListenersOf(kTable, 7000), std::vector<uid_t>{1000});
  EXPECT_EQ(ListenersOf(kTable, 7001), std::vector<uid_t>{0});
  EXPECT_TRUE(ListenersOf(kTable, 7002).empty());
}

TEST(OwnerTest, TheOwnerOfAPortIsTheUserOfItsListener) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  const std::string name =
      "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  EXPECT_EQ(CheckOwner(name, geteuid()).code(), kErrUnreach);
  ASSERT_EQ(listen(fd, 1), 0);
  EXPECT_TRUE(CheckOwner(name, geteuid()).ok());
  // Root may serve every user.
  EXPECT_EQ(CheckOwner(name, geteuid() + 1).code(),
            geteuid() == 0 ? kSuccess : kErrNoPermissions);
  close(fd);
}

TEST(OwnerTest, TheOwnerOfASocketIsTheOwnerOfItsFile) {
  // The path of a socket must be short.
  char directory[] = "/tmp/owner-test-XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  const std::string path = std::string(directory) + "/s";
  EXPECT_EQ(CheckOwner("unix:" + path, geteuid()).code(), kErrUnreach);
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_TRUE(CheckOwner("unix:" + path, geteuid()).ok());
  if (geteuid() == 0) {
    ASSERT_EQ(chown(path.c_str(), 4321, 4321), 0);
    EXPECT_EQ(CheckOwner("unix:" + path, 1234).code(), kErrNoPermissions);
  }
  close(fd);
  unlink(path.c_str());
  rmdir(directory);
}

}  // namespace
}  // namespace canopy::scheduler
