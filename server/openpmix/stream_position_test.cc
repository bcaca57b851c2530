#include "server/openpmix/stream_position.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>

#include "common/posix/unique_fd.h"

namespace canopy::openpmix {
namespace {

class StreamPositionTest : public ::testing::Test {
 protected:
  StreamPositionTest() {
    const UniqueFd listener(socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* any = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(listener.get(), any, size), 0);
    EXPECT_EQ(listen(listener.get(), 1), 0);
    EXPECT_EQ(getsockname(listener.get(), any, &size), 0);
    peer_.Reset(socket(AF_INET, SOCK_STREAM, 0));
    EXPECT_EQ(connect(peer_.get(), any, size), 0);
    own_.Reset(accept(listener.get(), nullptr, nullptr));
  }
  void Expect(uint64_t read, uint64_t written) {
    const Result<StreamPosition> position = PositionOf(own_.get());
    ASSERT_TRUE(position.ok()) << position.status().message();
    EXPECT_EQ(position->read, read);
    EXPECT_EQ(position->written, written);
  }
  static void Write(const UniqueFd& fd, size_t size) {
    const std::string bytes(size, 'x');
    ASSERT_EQ(send(fd.get(), bytes.data(), size, MSG_NOSIGNAL),
              static_cast<ssize_t>(size));
  }
  static void Read(const UniqueFd& fd, size_t size) {
    std::string bytes(size, '\0');
    ASSERT_EQ(recv(fd.get(), bytes.data(), size, MSG_WAITALL),
              static_cast<ssize_t>(size));
  }
  UniqueFd own_;
  UniqueFd peer_;
};

TEST_F(StreamPositionTest, ThePositionCountsReadAndAcceptedBytes) {
  Expect(0, 0);
  Write(peer_, 1000);
  Expect(0, 0);
  Read(own_, 300);
  Expect(300, 0);
  Write(own_, 70);
  Expect(300, 70);
  Read(peer_, 20);
  Expect(300, 70);
  Read(own_, 700);
  Expect(1000, 70);
}

TEST_F(StreamPositionTest, TheEndOfTheStreamDoesNotChangeThePosition) {
  Write(peer_, 10);
  shutdown(peer_.get(), SHUT_WR);
  Expect(0, 0);
  Read(own_, 10);
  Expect(10, 0);
  char byte;
  ASSERT_EQ(recv(own_.get(), &byte, 1, 0), 0);
  Expect(10, 0);
}

TEST_F(StreamPositionTest, BytesInTheSocketsBufferCountAsAccepted) {
  const std::string bytes(1 << 20, 'x');
  uint64_t taken = 0;
  for (;;) {
    const ssize_t n = send(own_.get(), bytes.data(), bytes.size(),
                           MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0) break;
    taken += static_cast<uint64_t>(n);
  }
  Expect(0, taken);
}

TEST_F(StreamPositionTest, AClosedConnectionHasNoPosition) {
  Write(own_, 1);
  peer_.Reset();
  EXPECT_EQ(PositionOf(own_.get()).code(), kErrLostConnection);
  EXPECT_EQ(PositionOf(-1).code(), kErrNotSupported);
}

}  // namespace
}  // namespace canopy::openpmix
