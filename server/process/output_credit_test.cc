#include "server/process/output_credit.h"

#include <gtest/gtest.h>

namespace canopy::process {
namespace {

core::CreditOutput Credit(uint64_t bytes, uint64_t total = 0) {
  core::CreditOutput credit;
  credit.bytes = bytes;
  credit.total = total;
  return credit;
}

TEST(OutputCreditTest, GrantsTheAddedCredit) {
  OutputCredit credit;
  EXPECT_EQ(credit.Take(), 0u);
  credit.Add(Credit(10));
  credit.Add(Credit(5));
  EXPECT_EQ(credit.Take(), 15u);
  EXPECT_EQ(credit.Take(), 0u);
}

TEST(OutputCreditTest, CreditOfARepeatedTotalIsGrantedOnce) {
  OutputCredit credit;
  credit.Add(Credit(10, 10));
  credit.Add(Credit(10, 10));
  credit.Add(Credit(1, 4));
  EXPECT_EQ(credit.Take(), 10u);
}

TEST(OutputCreditTest, NoCreditIsGrantedBeforeThePositionIsKnown) {
  OutputCredit credit;
  credit.ForgetPosition();
  credit.Add(Credit(10, 110));
  EXPECT_EQ(credit.Take(), 0u);
  credit.SetPosition(100);
  EXPECT_EQ(credit.Take(), 10u);
}

TEST(OutputCreditTest, BytesCreditedEarlyAreGrantedWhenThePositionIsSet) {
  OutputCredit credit;
  credit.ForgetPosition();
  credit.Add(Credit(10));
  credit.SetPosition(100);
  EXPECT_EQ(credit.Take(), 10u);
}

TEST(OutputCreditTest, SetPositionDoesNotChangeAKnownPosition) {
  OutputCredit credit;
  credit.Add(Credit(10));
  credit.SetPosition(100);
  EXPECT_EQ(credit.Take(), 10u);
}

}  // namespace
}  // namespace canopy::process
