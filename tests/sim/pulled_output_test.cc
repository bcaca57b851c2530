#include "tests/sim/pulled_output.h"

#include <gtest/gtest.h>

#include "common/bytes.h"

namespace canopy::sim {
namespace {

constexpr OutputStream kOut = {3, kOutputChannel};
constexpr uint64_t kSize = 200;

class PulledOutput : public testing::Test {
 protected:
  PulledOutput() { written_.Write(kOut, kSize); }
  std::string Add(uint64_t begin, uint64_t end) {
    return read_.Add(
        {kOut.first, kOut.second, Bytes(written_.Text(kOut, begin, end))});
  }
  std::string Close() { return read_.Add({kOut.first, kOut.second, {}}); }

  WrittenOutput written_;
  ReadOutput read_{written_};
};

TEST_F(PulledOutput, OutputReadInOrderIsAccepted) {
  EXPECT_EQ(Add(0, 50), "");
  EXPECT_EQ(Add(80, 120), "");
  EXPECT_EQ(Add(120, kSize), "");
  EXPECT_EQ(Close(), "");
  EXPECT_EQ(read_.bytes(), 170u);
  EXPECT_TRUE(read_.IsClosed(kOut));
}

TEST_F(PulledOutput, RepeatedPrematureOrChangedOutputIsAnError) {
  EXPECT_EQ(Add(20, 80), "");
  EXPECT_NE(Add(20, 80), "");
  EXPECT_NE(Add(0, 20), "");
  EXPECT_NE(read_.Add({kOut.first, kErrorChannel,
                       Bytes(written_.Text(kOut, 80, 120))}),
            "");
  EXPECT_NE(Add(190, 210), "");
}

TEST_F(PulledOutput, OutputAfterTheEndIsAnError) {
  EXPECT_EQ(Close(), "");
  EXPECT_NE(Close(), "");
  EXPECT_NE(Add(0, 20), "");
}

TEST_F(PulledOutput, TotalsCountOnlyTheSelectedOutput) {
  written_.Write({3, kErrorChannel}, 7);
  written_.Write({4, kOutputChannel}, 11);
  EXPECT_EQ(written_.Total(kOutputChannel | kErrorChannel, {}), 218u);
  EXPECT_EQ(written_.Total(kOutputChannel, {}), 211u);
  EXPECT_EQ(written_.Total(kOutputChannel | kErrorChannel, {3}), 207u);
}

}  // namespace
}  // namespace canopy::sim
