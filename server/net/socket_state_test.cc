#include "server/net/socket_state.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/posix/unique_fd.h"

namespace canopy::net {
namespace {

TEST(SocketStateTest, EachSocketHasItsCookie) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd a(ends[0]);
  const UniqueFd b(ends[1]);
  EXPECT_NE(CookieOf(a.get()), 0u);
  EXPECT_NE(CookieOf(a.get()), CookieOf(b.get()));
  EXPECT_EQ(CookieOf(a.get()), CookieOf(DuplicateFd(a.get()).get()));
  EXPECT_EQ(CookieOf(-1), 0u);
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd out(ends[0]);
  const UniqueFd in(ends[1]);
  EXPECT_EQ(CookieOf(out.get()), 0u);
}

TEST(SocketStateTest, HasUnreadReportsUnreadBytes) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd a(ends[0]);
  const UniqueFd b(ends[1]);
  EXPECT_FALSE(HasUnread(a.get()));
  char byte = 'x';
  ASSERT_EQ(send(b.get(), &byte, 1, MSG_NOSIGNAL), 1);
  EXPECT_TRUE(HasUnread(a.get()));
  ASSERT_EQ(recv(a.get(), &byte, 1, 0), 1);
  EXPECT_FALSE(HasUnread(a.get()));
  EXPECT_FALSE(HasUnread(-1));
}

TEST(SocketStateTest, HasReceivedReportsEarlierBytes) {
  const UniqueFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in in = {};
  in.sin_family = AF_INET;
  in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof in;
  auto* const address = reinterpret_cast<sockaddr*>(&in);
  ASSERT_EQ(bind(listener.get(), address, size), 0);
  ASSERT_EQ(listen(listener.get(), 1), 0);
  ASSERT_EQ(getsockname(listener.get(), address, &size), 0);
  const UniqueFd far(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(connect(far.get(), address, size), 0);
  const UniqueFd near(accept(listener.get(), nullptr, nullptr));
  EXPECT_FALSE(HasReceived(near.get()));
  char byte = 'x';
  ASSERT_EQ(send(far.get(), &byte, 1, MSG_NOSIGNAL), 1);
  ASSERT_EQ(recv(near.get(), &byte, 1, 0), 1);
  EXPECT_TRUE(HasReceived(near.get()));
  EXPECT_FALSE(HasReceived(-1));
}

}  // namespace
}  // namespace canopy::net
