#include "server/relay/byte_bridge.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace canopy::relay {
namespace {

constexpr int64_t kMs = 1000 * 1000;

// The stream to the other side, which the test controls.
struct FakeStream : PieceStream {
  void Read() override { reads++; }
  void Write(std::string piece) override {
    written.push_back(std::move(piece));
  }
  void End() override { ends++; }
  void Cancel() override { cancels++; }

  int reads = 0;
  int ends = 0;
  int cancels = 0;
  std::vector<std::string> written;
};

class ByteBridgeTest : public ::testing::Test {
 protected:
  void Make(BridgeOptions options = {}) {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
                         ends),
              0);
    near_.Reset(ends[0]);
    bridge_.emplace(&loop_, UniqueFd(ends[1]), &stream_, options);
  }
  void Rounds() {
    for (int i = 0; i < 4; ++i) loop_.RunOnce(0);
  }
  template <typename Condition>
  void Until(Condition condition) {
    const int64_t deadline = EventLoop::Now() + 10'000 * kMs;
    while (!condition() && EventLoop::Now() < deadline) loop_.RunOnce(5);
    ASSERT_TRUE(condition());
  }
  void Send(const std::string& bytes) {
    ASSERT_EQ(send(near_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    Rounds();
  }
  // Returns the data that has arrived, or "end" if the stream has ended.
  std::string Receive() {
    Rounds();
    std::string bytes(1 << 20, '\0');
    const ssize_t n =
        recv(near_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (n < 0) return errno == EAGAIN ? "" : "error";
    bytes.resize(static_cast<size_t>(n));
    return n == 0 ? "end" : bytes;
  }

  EventLoop loop_;
  FakeStream stream_;
  UniqueFd near_;
  std::optional<ByteBridge> bridge_;
};

TEST_F(ByteBridgeTest, TransfersBytesInBothDirections) {
  Make();
  EXPECT_EQ(stream_.reads, 1);
  bridge_->OnPiece("from far");
  EXPECT_EQ(stream_.reads, 2);
  EXPECT_EQ(Receive(), "from far");
  Send("from near");
  EXPECT_EQ(stream_.written, std::vector<std::string>{"from near"});
  bridge_->OnPiece("");
  EXPECT_EQ(Receive(), "");
  EXPECT_EQ(stream_.reads, 3);
}

TEST_F(ByteBridgeTest, TheNextPieceIsSentWhenThePreviousIsWritten) {
  Make();
  Send("one");
  Send("two");
  ASSERT_EQ(stream_.written.size(), 1u);
  bridge_->OnWritten(true);
  Rounds();
  EXPECT_EQ(stream_.written, (std::vector<std::string>{"one", "two"}));
  bridge_->OnWritten(true);
  Send(std::string(3 * kMaxPiece / 2, 'x'));
  EXPECT_EQ(stream_.written.back().size(), kMaxPiece);
}

// Data that the near side does not read stops the far side.
TEST_F(ByteBridgeTest, ReadingStopsWhileTheSocketIsNotRead) {
  Make();
  int pieces = 0;
  while (stream_.reads == pieces + 1) {
    ASSERT_LT(pieces, 1000);
    bridge_->OnPiece(std::string(kMaxPiece, 'x'));
    ++pieces;
  }
  size_t received = 0;
  while (received < pieces * kMaxPiece) {
    const std::string bytes = Receive();
    ASSERT_FALSE(bytes.empty());
    received += bytes.size();
  }
  EXPECT_EQ(received, pieces * kMaxPiece);
  EXPECT_EQ(stream_.reads, pieces + 1);
}

TEST_F(ByteBridgeTest, AHalfCloseOfTheFarSideIsForwardedAndWritesContinue) {
  Make();
  bridge_->OnPiece("last");
  bridge_->OnPeerEnd();
  EXPECT_EQ(Receive(), "last");
  EXPECT_EQ(Receive(), "end");
  EXPECT_EQ(stream_.ends, 0);
  // The near side may still send data.
  Send("answer");
  EXPECT_EQ(stream_.written, std::vector<std::string>{"answer"});
  near_.Reset();
  Rounds();
  EXPECT_EQ(stream_.ends, 0);
  bridge_->OnWritten(true);
  Rounds();
  EXPECT_EQ(stream_.ends, 1);
  EXPECT_EQ(stream_.cancels, 0);
}

TEST_F(ByteBridgeTest, TheEndOfTheFarSideClosesTheSocketIfConfigured) {
  Make({.closes_at_end = true});
  bridge_->OnPiece("last");
  bridge_->OnPeerEnd();
  EXPECT_EQ(stream_.ends, 1);
  bridge_.reset();
  EXPECT_EQ(Receive(), "last");
  EXPECT_EQ(Receive(), "end");
}

// A tool leaves while data is sent to it; the data that the tool has sent
// before is still forwarded.
TEST_F(ByteBridgeTest, DataSentBeforeTheNearSideClosesIsForwarded) {
  Make();
  Send("last words");
  near_.Reset();
  bridge_->OnPiece("unheard");
  bridge_->OnPiece("also");
  EXPECT_EQ(stream_.reads, 3);
  EXPECT_EQ(stream_.written, std::vector<std::string>{"last words"});
  bridge_->OnWritten(true);
  Rounds();
  EXPECT_EQ(stream_.ends, 1);
  EXPECT_EQ(stream_.cancels, 0);
}

TEST_F(ByteBridgeTest, AHalfCloseOfTheNearSideIsForwardedAndReadsContinue) {
  Make();
  shutdown(near_.get(), SHUT_WR);
  Rounds();
  EXPECT_EQ(stream_.ends, 1);
  bridge_->OnPiece("rest");
  EXPECT_EQ(Receive(), "rest");
  EXPECT_EQ(stream_.ends, 1);
}

TEST_F(ByteBridgeTest, APieceThatIsTooLongEndsTheBridge) {
  Make();
  bridge_->OnPiece(std::string(kMaxPiece + 1, 'x'));
  EXPECT_EQ(stream_.cancels, 1);
  EXPECT_EQ(stream_.ends, 1);
  EXPECT_EQ(Receive(), "end");
}

TEST_F(ByteBridgeTest, ABrokenStreamClosesTheSocketAtOnce) {
  Make();
  Send("under way");
  bridge_->OnBroken();
  EXPECT_EQ(stream_.cancels, 1);
  EXPECT_EQ(stream_.ends, 0);
  EXPECT_EQ(Receive(), "end");
  bridge_->OnWritten(false);
  bridge_->OnPeerEnd();
  EXPECT_EQ(stream_.cancels, 1);
  EXPECT_EQ(stream_.ends, 1);
}

TEST_F(ByteBridgeTest, UnwrittenDataIsDroppedSomeTimeAfterTheEnd) {
  Make({.linger_ns = 20 * kMs});
  Send("not taken");
  shutdown(near_.get(), SHUT_WR);
  Rounds();
  Until([this] { return stream_.cancels == 1; });
  EXPECT_EQ(stream_.ends, 0);
  bridge_->OnWritten(false);
  EXPECT_EQ(stream_.ends, 1);
}

TEST_F(ByteBridgeTest, ASilentPeerEndsTheBridge) {
  Make({.beat_ns = 5 * kMs, .silence_ns = 50 * kMs});
  Until([this] { return stream_.cancels == 1; });
  EXPECT_EQ(Receive(), "end");
}

TEST_F(ByteBridgeTest, HeartbeatsOfBothSidesKeepTheBridgeOpen) {
  Make({.beat_ns = 5 * kMs, .silence_ns = 50 * kMs});
  const int64_t end = EventLoop::Now() + 200 * kMs;
  size_t beats = 0;
  while (EventLoop::Now() < end) {
    loop_.RunOnce(1);
    bridge_->OnPiece("");
    if (stream_.written.size() > beats) {
      EXPECT_EQ(stream_.written.back(), "");
      beats = stream_.written.size();
      bridge_->OnWritten(true);
    }
  }
  EXPECT_EQ(stream_.cancels, 0);
  EXPECT_GT(beats, 2u);
  EXPECT_EQ(Receive(), "");
}

}  // namespace
}  // namespace canopy::relay
