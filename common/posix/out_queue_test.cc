#include "common/posix/out_queue.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstring>
#include <string>

#include "common/posix/unique_fd.h"

namespace canopy {
namespace {

class OutQueueTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int fds[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    out_.Reset(fds[0]);
    in_.Reset(fds[1]);
  }

  // Returns the data of one receive, and the descriptor that came with it.
  std::string Receive(UniqueFd* fd = nullptr) {
    std::string data(1 << 20, '\0');
    iovec part{data.data(), data.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t n = recvmsg(in_.get(), &message, MSG_DONTWAIT);
    if (const cmsghdr* header = CMSG_FIRSTHDR(&message);
        n > 0 && header != nullptr) {
      int received;
      std::memcpy(&received, CMSG_DATA(header), sizeof received);
      if (fd != nullptr) fd->Reset(received);
    }
    data.resize(n > 0 ? static_cast<size_t>(n) : 0);
    return data;
  }

  OutQueue queue_;
  UniqueFd out_;
  UniqueFd in_;
};

TEST_F(OutQueueTest, SmallFramesAreSentTogether) {
  queue_.Append(std::string("one"));
  queue_.Append(Bytes(std::string("two")));
  queue_.Append(Bytes(std::string(10000, 'x')));
  EXPECT_EQ(queue_.size(), 10006u);
  EXPECT_EQ(queue_.Flush(out_.get()), OutQueue::State::kEmpty);
  EXPECT_EQ(Receive(), "onetwo" + std::string(10000, 'x'));
  EXPECT_EQ(queue_.size(), 0u);
}

TEST_F(OutQueueTest, ADescriptorArrivesWithItsBytes) {
  const int null = open("/dev/null", O_RDONLY);
  ASSERT_GE(null, 0);
  auto owner = std::shared_ptr<const void>(
      nullptr, [null](const void*) { close(null); });
  queue_.Append(std::string("before"));
  queue_.AppendWithFds("with", {{null, std::move(owner)}});
  queue_.Append(std::string("after"));
  EXPECT_EQ(queue_.Flush(out_.get()), OutQueue::State::kEmpty);
  UniqueFd fd;
  EXPECT_EQ(Receive(&fd), "beforewithafter");
  struct stat a, b;
  ASSERT_TRUE(fd);
  ASSERT_EQ(fstat(fd.get(), &a), 0);
  ASSERT_EQ(stat("/dev/null", &b), 0);
  EXPECT_EQ(a.st_rdev, b.st_rdev);
}

TEST_F(OutQueueTest, ABlockedFlushContinuesWhereItStopped) {
  std::string expected;
  for (int i = 0; i < 200; ++i) {
    std::string part(20000, static_cast<char>('a' + i % 26));
    expected += part;
    queue_.Append(Bytes(std::move(part)));
  }
  std::string got;
  ASSERT_EQ(queue_.Flush(out_.get()), OutQueue::State::kBlocked);
  EXPECT_GT(queue_.size(), 0u);
  while (got.size() < expected.size()) {
    const std::string data = Receive();
    ASSERT_FALSE(data.empty());
    got += data;
    queue_.Flush(out_.get());
  }
  EXPECT_EQ(got, expected);
  EXPECT_EQ(queue_.Flush(out_.get()), OutQueue::State::kEmpty);
}

TEST_F(OutQueueTest, FlushReportsThatThePeerIsGone) {
  in_.Reset();
  queue_.Append(std::string("x"));
  EXPECT_EQ(queue_.Flush(out_.get()), OutQueue::State::kBroken);
}

}  // namespace
}  // namespace canopy
