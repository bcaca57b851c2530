#include "server/kubernetes/api/quantity.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

namespace canopy::kubernetes {
namespace {

TEST(QuantityTest, ReadsWholeNumbersWithSuffixes) {
  EXPECT_EQ(WholeQuantity("0"), 0);
  EXPECT_EQ(WholeQuantity("8"), 8);
  EXPECT_EQ(WholeQuantity("1k"), 1000);
  EXPECT_EQ(WholeQuantity("2M"), 2'000'000);
  EXPECT_EQ(WholeQuantity("1Ki"), 1024);
  EXPECT_EQ(WholeQuantity("3Mi"), 3 * 1024 * 1024);
  EXPECT_EQ(WholeQuantity("4000m"), 4);
  EXPECT_EQ(WholeQuantity("8e3"), 8000);
  EXPECT_EQ(WholeQuantity("8E+1"), 80);
  EXPECT_EQ(WholeQuantity("800e-2"), 8);
  EXPECT_EQ(WholeQuantity("1E"), 1'000'000'000'000'000'000);
  EXPECT_EQ(WholeQuantity("9223372036854775807"), INT64_MAX);
}

TEST(QuantityTest, RejectsFractionsOverflowsAndOtherText) {
  for (const char* text : {"",
                           "-1",
                           "+1",
                           " 1",
                           "1 ",
                           "1.5",
                           "1.0",
                           "k",
                           "1kk",
                           "1ki",
                           "1K",
                           "5m",
                           "10E",
                           "8Ei",
                           "1e",
                           "1e+",
                           "1e99",
                           "1e--1",
                           "9223372036854775808",
                           "0x10",
                           "1e18446744073709551616"}) {
    EXPECT_EQ(WholeQuantity(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace canopy::kubernetes
