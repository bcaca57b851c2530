#include "server/shim/output_pump.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "server/shim/protocol.h"

namespace canopy::process {
namespace {

class OutputPumpTest : public testing::Test {
 protected:
  void Make(uint64_t window) {
    pump_ = std::make_unique<OutputPump>(
        &loop_, window,
        [this](Rank rank, uint16_t channel, const Bytes& data) {
          log_ += std::to_string(rank) + "/" + std::to_string(channel) + ":" +
                  (data.empty() ? "END" : std::string(data.view())) + " ";
        },
        [this](Rank rank, uint16_t channel) {
          if (last_words_.empty()) return;
          pump_->Put(rank, channel, Bytes(std::exchange(last_words_, "")));
        },
        [this](Rank rank) { log_ += "ended" + std::to_string(rank) + " "; });
  }

  UniqueFd Add(Rank rank, uint16_t channel) {
    int fds[2];
    EXPECT_EQ(pipe2(fds, O_CLOEXEC), 0);
    pump_->Add(rank, channel, UniqueFd(fds[0]));
    return UniqueFd(fds[1]);
  }

  void Write(const UniqueFd& fd, const std::string& text) {
    ASSERT_EQ(write(fd.get(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
    Spin();
  }

  void Spin() {
    for (int i = 0; i < 5; ++i) loop_.RunOnce(0);
  }

  void Put(Rank rank, uint16_t channel, const std::string& text) {
    pump_->Put(rank, channel, Bytes(text));
  }

  std::string Log() { return std::exchange(log_, ""); }

  EventLoop loop_;
  std::unique_ptr<OutputPump> pump_;
  std::string log_;
  std::string last_words_;  // text that is put at the end of a stream
};

TEST_F(OutputPumpTest, OutputIsEmittedOnlyBetweenResumeAndPause) {
  Make(100);
  UniqueFd pipe = Add(0, 2);
  Write(pipe, "one");
  EXPECT_EQ(Log(), "");
  EXPECT_EQ(pump_->unacknowledged(), 3u);
  pump_->Resume();
  EXPECT_EQ(Log(), "0/2:one ");
  Write(pipe, "two");
  EXPECT_EQ(Log(), "0/2:two ");
  pump_->Pause();
  pump_->ProcessEnded(0);
  pipe.Reset();
  Spin();
  EXPECT_EQ(Log(), "ended0 ");
  EXPECT_FALSE(pump_->IsOpen(0));
}

TEST_F(OutputPumpTest, AStreamWithoutAPipeEndsWithItsProcess) {
  Make(100);
  pump_->Resume();
  pump_->Add(3, 2, UniqueFd());
  Spin();
  EXPECT_EQ(Log(), "");
  EXPECT_TRUE(pump_->IsOpen(3));
  pump_->ProcessEnded(3);
  EXPECT_EQ(Log(), "3/2:END ended3 ");
  pump_->Resume();
  EXPECT_EQ(Log(), "3/2:END ") << "an agent may have missed it";
}

TEST_F(OutputPumpTest, ResumeRepeatsUnacknowledgedOutput) {
  Make(100);
  pump_->Resume();
  UniqueFd a = Add(0, 2);
  UniqueFd b = Add(1, 4);
  Write(a, "aaaa");
  Write(b, "bb");
  pump_->ProcessEnded(0);
  a.Reset();
  Spin();
  EXPECT_EQ(Log(), "0/2:aaaa 1/4:bb 0/2:END ended0 ");
  pump_->Credit(3);
  pump_->Pause();
  pump_->Resume();
  EXPECT_EQ(Log(), "0/2:a 1/4:bb 0/2:END ");
  pump_->Credit(1000);
  EXPECT_EQ(pump_->unacknowledged(), 0u);
  pump_->Resume();
  EXPECT_EQ(Log(), "0/2:END ");
}

TEST_F(OutputPumpTest, TheWindowLimitsTheOutput) {
  Make(4);
  pump_->Resume();
  const UniqueFd a = Add(0, 2);
  Write(a, "abcdefgh");
  EXPECT_EQ(Log(), "0/2:abcd ");
  EXPECT_TRUE(pump_->IsHeldBack(0));
  pump_->Credit(2);
  EXPECT_EQ(Log(), "0/2:ef ");
  pump_->Credit(4);
  Spin();
  EXPECT_EQ(Log(), "0/2:gh ");
  EXPECT_FALSE(pump_->IsHeldBack(0));
}

TEST_F(OutputPumpTest, StreamsShareTheWindowInTurns) {
  Make(4);
  pump_->Resume();
  const UniqueFd a = Add(0, 2);
  const UniqueFd b = Add(1, 2);
  Write(a, "aaaaaaaaaaaa");
  Write(b, "bbbbbbbb");
  EXPECT_EQ(Log(), "0/2:aaaa ");
  for (int i = 0; i < 4; ++i) pump_->Credit(4);
  EXPECT_EQ(Log(), "0/2:aaaa 1/2:bbbb 0/2:aaaa 1/2:bbbb ");
}

TEST_F(OutputPumpTest, TheNumberOfPiecesIsLimited) {
  Make(1 << 20);
  pump_->Resume();
  const UniqueFd a = Add(0, 2);
  for (int i = 0; i < 5000; ++i) {
    ASSERT_EQ(write(a.get(), "x", 1), 1);
    loop_.RunOnce(0);
  }
  EXPECT_EQ(pump_->unacknowledged(), 4096u);
  EXPECT_TRUE(pump_->IsHeldBack(0));
  pump_->Credit(4096);
  Spin();
  EXPECT_EQ(pump_->unacknowledged(), 5000u - 4096u);
}

TEST_F(OutputPumpTest, ARankEndsWithItsLastStream) {
  Make(100);
  pump_->Resume();
  UniqueFd out = Add(3, 2);
  UniqueFd err = Add(3, 4);
  pump_->ProcessEnded(3);
  out.Reset();
  Spin();
  EXPECT_EQ(Log(), "3/2:END ");
  EXPECT_TRUE(pump_->IsOpen(3));
  err.Reset();
  Spin();
  EXPECT_EQ(Log(), "3/4:END ended3 ");
}

TEST_F(OutputPumpTest, AStreamDoesNotEndBeforeItsProcess) {
  Make(100);
  pump_->Resume();
  UniqueFd pipe = Add(0, 2);
  pipe.Reset();
  Spin();
  EXPECT_EQ(Log(), "");
  EXPECT_TRUE(pump_->IsOpen(0));
  Put(0, 2, "text");
  EXPECT_EQ(Log(), "0/2:text ");
  pump_->ProcessEnded(0);
  EXPECT_EQ(Log(), "0/2:END ended0 ");
  // A process that outlives the rank's process may still request text.
  Put(0, 2, "late");
  EXPECT_EQ(Log(), "0/2:late ");
}

TEST_F(OutputPumpTest, ATextFollowsTheEarlierContentOfThePipe) {
  Make(100);
  pump_->Resume();
  const UniqueFd pipe = Add(0, 4);
  ASSERT_EQ(write(pipe.get(), "before ", 7), 7);
  Put(0, 4, "text");
  ASSERT_EQ(write(pipe.get(), "after", 5), 5);
  Spin();
  EXPECT_EQ(Log(), "0/4:before  0/4:text 0/4:after ");
  Put(0, 4, "one");
  Put(0, 4, "two");
  EXPECT_EQ(Log(), "0/4:one 0/4:two ");
  Write(pipe, "last");
  EXPECT_EQ(Log(), "0/4:last ");
}

TEST_F(OutputPumpTest, TextsWaitForRoomInTheWindow) {
  Make(4);
  pump_->Resume();
  const UniqueFd pipe = Add(0, 2);
  Write(pipe, "abcdef");
  Put(0, 2, "TEXT!");
  Write(pipe, "gh");
  EXPECT_EQ(Log(), "0/2:abcd ");
  EXPECT_TRUE(pump_->IsHeldBack(0));
  for (int i = 0; i < 8; ++i) {
    pump_->Credit(4);
    Spin();
  }
  EXPECT_EQ(Log(), "0/2:ef 0/2:TE 0/2:XT! 0/2:g 0/2:h ");
  EXPECT_EQ(pump_->acknowledged(), 13u);
}

TEST_F(OutputPumpTest, TextsAreKeptUntilTheyAreAcknowledged) {
  Make(100);
  const UniqueFd pipe = Add(0, 2);
  Put(0, 2, "text");
  EXPECT_EQ(Log(), "");
  EXPECT_EQ(pump_->unacknowledged(), 4u);
  pump_->Resume();
  pump_->Resume();
  EXPECT_EQ(Log(), "0/2:text 0/2:text ");
  pump_->Credit(4);
  pump_->Resume();
  EXPECT_EQ(Log(), "");
}

TEST_F(OutputPumpTest, WaitingTextsAreLimited) {
  Make(1);
  const UniqueFd pipe = Add(0, 2);
  Put(0, 2, "x");  // fills the window
  EXPECT_TRUE(pump_->HasRoom(1, kMaxWaitingText));
  EXPECT_FALSE(pump_->HasRoom(1, kMaxWaitingText + 1));
  Put(0, 2, std::string(kMaxWaitingText - 1, 'y'));
  EXPECT_TRUE(pump_->HasRoom(1, 1));
  EXPECT_FALSE(pump_->HasRoom(1, 2));
  pump_->Credit(1);
  EXPECT_TRUE(pump_->HasRoom(1, 2));
  for (int i = 1; i < 4096; ++i) Put(0, 2, "z");
  EXPECT_FALSE(pump_->HasRoom(1, 0));
}

TEST_F(OutputPumpTest, TextsAddedWhenAProcessEndsPrecedeTheEndOfItsStream) {
  Make(100);
  pump_->Resume();
  UniqueFd pipe = Add(0, 2);
  last_words_ = "last";
  pump_->ProcessEnded(0);
  pipe.Reset();
  Spin();
  EXPECT_EQ(Log(), "0/2:last 0/2:END ended0 ");
}

TEST_F(OutputPumpTest, AnEndWaitsForTheTextsBeforeIt) {
  Make(2);
  pump_->Resume();
  UniqueFd pipe = Add(0, 2);
  Put(0, 2, "text");
  pipe.Reset();
  pump_->ProcessEnded(0);
  Spin();
  EXPECT_EQ(Log(), "0/2:te ");
  pump_->Credit(2);
  EXPECT_EQ(Log(), "0/2:xt ");
  pump_->Credit(2);
  Spin();
  EXPECT_EQ(Log(), "0/2:END ended0 ");
}

TEST_F(OutputPumpTest, TextsForUnknownStreamsAreIgnored) {
  Make(100);
  pump_->Resume();
  const UniqueFd pipe = Add(0, 2);
  EXPECT_TRUE(pump_->HasStream(0, 2));
  EXPECT_FALSE(pump_->HasStream(0, 4));
  EXPECT_FALSE(pump_->HasStream(1, 2));
  Put(1, 2, "text");
  Put(0, 2, "");
  EXPECT_EQ(Log(), "");
}

}  // namespace
}  // namespace canopy::process
