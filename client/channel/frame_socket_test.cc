#include "client/channel/frame_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/status.h"

namespace canopy::client {
namespace {

using local::FrameType;

struct Pair {
  Pair() {
    int fds[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    left.emplace(UniqueFd(fds[0]));
    right.emplace(UniqueFd(fds[1]));
  }

  std::optional<FrameSocket> left;
  std::optional<FrameSocket> right;
};

TEST(FrameSocket, FramesArriveInOrder) {
  Pair pair;
  ASSERT_EQ(pair.left->Send(FrameType::kGet, 7, "payload"), kSuccess);
  ASSERT_EQ(pair.left->Send(FrameType::kFinalize, 8, ""), kSuccess);
  ASSERT_EQ(pair.right->Read(true), FrameSocket::ReadState::kData);
  const auto first = pair.right->Next();
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->type, FrameType::kGet);
  EXPECT_EQ(first->tag, 7u);
  EXPECT_EQ(first->payload, "payload");
  const auto second = pair.right->Next();
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->tag, 8u);
  EXPECT_TRUE(second->payload.empty());
  EXPECT_FALSE(pair.right->Next().has_value());
}

TEST(FrameSocket, ReadReturnsAtOnceIfThereIsNoData) {
  Pair pair;
  EXPECT_EQ(pair.right->Read(false), FrameSocket::ReadState::kNothing);
}

TEST(FrameSocket, AFrameMayArriveInPieces) {
  Pair pair;
  local::FrameHeader header;
  header.length = 3;
  header.type = static_cast<uint16_t>(FrameType::kEvent);
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  bytes += "abc";
  for (size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_FALSE(pair.right->Next().has_value());
    ASSERT_EQ(send(pair.left->fd(), &bytes[i], 1, 0), 1);
    ASSERT_EQ(pair.right->Read(true), FrameSocket::ReadState::kData);
  }
  const auto frame = pair.right->Next();
  ASSERT_TRUE(frame.has_value());
  EXPECT_EQ(frame->payload, "abc");
}

TEST(FrameSocket, LargeFramesArriveBetweenSmallOnes) {
  Pair pair;
  const std::string large(5 << 20, 'x');
  std::thread sender([&] {
    pair.left->Send(FrameType::kCommit, 1, "small");
    pair.left->Send(FrameType::kCommit, 2, large);
    pair.left->Send(FrameType::kCommit, 3, "small");
  });
  std::vector<size_t> sizes;
  while (sizes.size() < 3) {
    ASSERT_EQ(pair.right->Read(true), FrameSocket::ReadState::kData);
    while (const auto frame = pair.right->Next()) {
      sizes.push_back(frame->payload.size());
      EXPECT_EQ(frame->tag, sizes.size());
    }
  }
  sender.join();
  EXPECT_EQ(sizes, (std::vector<size_t>{5, 5 << 20, 5}));
}

TEST(FrameSocket, FramesThatAreTooLargeAreRefusedOnBothSides) {
  Pair pair;
  const std::string_view huge(nullptr, local::kMaxPayload + size_t{1});
  EXPECT_EQ(pair.left->Send(FrameType::kCommit, 1, huge), kErrOutOfResource);
  EXPECT_EQ(pair.left->Send(FrameType::kGet, 1, huge.substr(0, 4097)),
            kErrOutOfResource);
  local::FrameHeader header;
  header.length = local::kMaxPayload + 1;
  ASSERT_EQ(send(pair.left->fd(), &header, sizeof(header), 0),
            static_cast<ssize_t>(sizeof(header)));
  ASSERT_EQ(pair.right->Read(true), FrameSocket::ReadState::kData);
  EXPECT_FALSE(pair.right->Next().has_value());
  EXPECT_TRUE(pair.right->broken());
  EXPECT_EQ(pair.right->Read(false), FrameSocket::ReadState::kClosed);
}

TEST(FrameSocket, TheEndOfThePeerIsReported) {
  Pair pair;
  pair.left.reset();
  EXPECT_EQ(pair.right->Read(true), FrameSocket::ReadState::kClosed);
  EXPECT_EQ(pair.right->Send(FrameType::kGet, 1, "x"), kErrLostConnection);
  EXPECT_FALSE(pair.right->TakeFd());
}

TEST(FrameSocket, ShutdownWakesAReader) {
  Pair pair;
  std::thread reader([&] {
    EXPECT_EQ(pair.right->Read(true), FrameSocket::ReadState::kClosed);
  });
  pair.right->Shutdown();
  reader.join();
}

}  // namespace
}  // namespace canopy::client
