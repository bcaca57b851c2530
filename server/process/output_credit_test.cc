#include "server/process/output_credit.h"

#include <gtest/gtest.h>

#include "server/shim/protocol.h"

namespace canopy::process {
namespace {

constexpr uint64_t kWindow = 100'000;

core::CreditOutput Credit(uint64_t bytes, uint64_t total = 0) {
  core::CreditOutput credit;
  credit.bytes = bytes;
  credit.total = total;
  return credit;
}

TEST(OutputCreditTest, GrantsTheAddedCredit) {
  OutputCredit credit(kWindow);
  EXPECT_EQ(credit.Take(), 0u);
  credit.Add(Credit(10));
  credit.Add(Credit(5));
  EXPECT_EQ(credit.Take(), 15u);
  EXPECT_EQ(credit.Take(), 0u);
}

TEST(OutputCreditTest, CreditOfARepeatedTotalIsGrantedOnce) {
  OutputCredit credit(kWindow);
  credit.Add(Credit(10, 10));
  credit.Add(Credit(10, 10));
  credit.Add(Credit(1, 4));
  EXPECT_EQ(credit.Take(), 10u);
}

TEST(OutputCreditTest, NoCreditIsGrantedBeforeThePositionIsKnown) {
  OutputCredit credit(kWindow);
  credit.ForgetPosition();
  credit.Add(Credit(10, 110));
  EXPECT_EQ(credit.Take(), 0u);
  credit.SetPosition(100);
  EXPECT_EQ(credit.Take(), 10u);
}

TEST(OutputCreditTest, BytesCreditedEarlyAreGrantedWhenThePositionIsSet) {
  OutputCredit credit(kWindow);
  credit.ForgetPosition();
  credit.Add(Credit(10));
  credit.SetPosition(100);
  EXPECT_EQ(credit.Take(), 10u);
}

TEST(OutputCreditTest, SetPositionDoesNotChangeAKnownPosition) {
  OutputCredit credit(kWindow);
  credit.Add(Credit(10));
  credit.SetPosition(100);
  EXPECT_EQ(credit.Take(), 10u);
}

TEST(OutputCreditTest, OutputFarBeyondTheWindowIsDetected) {
  OutputCredit credit(kWindow);
  EXPECT_TRUE(credit.OnReport(0, kWindow));
  EXPECT_FALSE(credit.OnReport(kWindow, 3 * kWindow));
  OutputCredit other(kWindow);
  EXPECT_TRUE(other.OnReport(0, kWindow));
  other.Add(Credit(kWindow));
  other.Take();
  EXPECT_TRUE(other.OnReport(kWindow, 3 * kWindow));
}

TEST(OutputCreditTest, ManySmallReportsWithoutCreditAreDetected) {
  OutputCredit credit(kWindow);
  uint64_t at = 0;
  const auto report = [&] {
    ++at;
    return credit.OnReport(at - 1, at);
  };
  // Credit makes room for as many reports again.
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < kMaxOutputChunks; ++i) ASSERT_TRUE(report());
    credit.Add(Credit(kMaxOutputChunks));
    credit.Take();
  }
  size_t more = 0;
  while (more < 100'000 && report()) ++more;
  EXPECT_GE(more, kMaxOutputChunks);
  EXPECT_LE(more, 2 * kMaxOutputChunks);
}

TEST(OutputCreditTest, OutputThatIsReportedAgainCountsOnce) {
  OutputCredit credit(kWindow);
  credit.ForgetPosition();
  EXPECT_TRUE(credit.OnReport(0, 10 * kWindow));
  for (int round = 0; round < 5; ++round) {
    credit.SetPosition(500);
    for (uint64_t at = 500; at < 500 + kMaxOutputChunks; ++at) {
      ASSERT_TRUE(credit.OnReport(at, at + 1)) << round;
    }
  }
}

TEST(OutputCreditTest, AStreamHasOneEnd) {
  OutputCredit credit(kWindow);
  EXPECT_FALSE(credit.OnReport(7, 7));
  credit.AllowEnds(2);
  EXPECT_TRUE(credit.OnReport(7, 7));
  EXPECT_TRUE(credit.OnReport(7, 7));
  EXPECT_FALSE(credit.OnReport(7, 7));
}

}  // namespace
}  // namespace canopy::process
