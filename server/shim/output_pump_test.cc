#include "server/shim/output_pump.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

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

  std::string Log() { return std::exchange(log_, ""); }

  EventLoop loop_;
  std::unique_ptr<OutputPump> pump_;
  std::string log_;
};

TEST_F(OutputPumpTest, EmitsOnlyWhileItFlows) {
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
  pipe.Reset();
  Spin();
  EXPECT_EQ(Log(), "ended0 ");
  EXPECT_FALSE(pump_->IsOpen(0));
}

TEST_F(OutputPumpTest, ResumeRepeatsWhatWasNotAcknowledged) {
  Make(100);
  pump_->Resume();
  UniqueFd a = Add(0, 2);
  UniqueFd b = Add(1, 4);
  Write(a, "aaaa");
  Write(b, "bb");
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

TEST_F(OutputPumpTest, TheWindowHolds) {
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

TEST_F(OutputPumpTest, StreamsTakeTurns) {
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

TEST_F(OutputPumpTest, ManySmallPiecesAreBound) {
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

TEST_F(OutputPumpTest, RanksEndWithTheirLastStream) {
  Make(100);
  pump_->Resume();
  UniqueFd out = Add(3, 2);
  UniqueFd err = Add(3, 4);
  out.Reset();
  Spin();
  EXPECT_EQ(Log(), "3/2:END ");
  EXPECT_TRUE(pump_->IsOpen(3));
  err.Reset();
  Spin();
  EXPECT_EQ(Log(), "3/4:END ended3 ");
}

}  // namespace
}  // namespace canopy::process
