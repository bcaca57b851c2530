#include "common/posix/in_buffer.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "common/posix/out_queue.h"
#include "common/posix/unique_fd.h"

namespace canopy {
namespace {

constexpr size_t kCapacity = 16;

class InBufferTest : public testing::Test {
 protected:
  InBufferTest() {
    int fds[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    out_.Reset(fds[0]);
    in_.Reset(fds[1]);
  }

  void Send(const std::string& bytes) {
    EXPECT_EQ(send(out_.get(), bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
  }
  InBuffer::State Receive(size_t frame = 0) {
    return buffer_.Receive(in_.get(), frame);
  }

  UniqueFd out_;
  UniqueFd in_;
  InBuffer buffer_{kCapacity};
};

TEST_F(InBufferTest, BytesArriveInOrderAndAreConsumed) {
  EXPECT_EQ(Receive(), InBuffer::State::kBlocked);
  Send("abcdef");
  ASSERT_EQ(Receive(), InBuffer::State::kReceived);
  EXPECT_EQ(buffer_.view(), "abcdef");
  buffer_.Consume(4);
  Send("gh");
  ASSERT_EQ(Receive(), InBuffer::State::kReceived);
  EXPECT_EQ(buffer_.view(), "efgh");
}

TEST_F(InBufferTest, TheBufferGrowsForALargeFrameAndShrinksAfterIt) {
  const std::string large(1000, 'x');
  Send(large);
  ASSERT_EQ(Receive(), InBuffer::State::kReceived);
  EXPECT_EQ(buffer_.size(), kCapacity);
  ASSERT_EQ(Receive(large.size()), InBuffer::State::kReceived);
  EXPECT_EQ(buffer_.view(), large);
  buffer_.Consume(large.size());
  Send(large);
  ASSERT_EQ(Receive(), InBuffer::State::kReceived);
  EXPECT_EQ(buffer_.size(), kCapacity);
}

// A receiver that does not know the frame's size yet can still receive.
TEST_F(InBufferTest, AFullBufferGrows) {
  Send(std::string(kCapacity, 'a') + "b");
  ASSERT_EQ(Receive(), InBuffer::State::kReceived);
  ASSERT_EQ(Receive(), InBuffer::State::kReceived);
  EXPECT_EQ(buffer_.view(), std::string(kCapacity, 'a') + "b");
}

TEST_F(InBufferTest, TheEndOfTheConnectionIsReported) {
  Send("a");
  out_.Reset();
  EXPECT_EQ(Receive(), InBuffer::State::kReceived);
  EXPECT_EQ(Receive(), InBuffer::State::kEnded);
  in_.Reset();
  EXPECT_EQ(Receive(), InBuffer::State::kBroken);
}

TEST_F(InBufferTest, DescriptorsAreTakenInOrder) {
  OutQueue queue;
  std::vector<UniqueFd> fds;
  for (int i = 0; i < 200; ++i) fds.emplace_back(dup(STDERR_FILENO));
  queue.AppendWithOwnFds("a", std::move(fds));
  ASSERT_EQ(queue.Flush(out_.get()), OutQueue::State::kEmpty);
  ASSERT_EQ(Receive(), InBuffer::State::kReceived);
  std::vector<UniqueFd> taken;
  EXPECT_FALSE(buffer_.TakeFds(201, &taken));
  EXPECT_TRUE(buffer_.TakeFds(150, &taken));
  ASSERT_EQ(taken.size(), 150u);
  struct stat info;
  EXPECT_EQ(fstat(taken.back().get(), &info), 0);
  EXPECT_FALSE(buffer_.TakeFds(51, &taken));
  buffer_.DropFds();
  EXPECT_FALSE(buffer_.TakeFds(1, &taken));
}

}  // namespace
}  // namespace canopy
