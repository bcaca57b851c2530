#include "common/values/rank.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

#include "common/ids.h"
#include "common/values/value.h"

namespace canopy {
namespace {

std::optional<Rank> Read(const Value& value) { return RankOf(value.raw()); }

TEST(RankTest, MayHaveAnyIntegerType) {
  EXPECT_EQ(Read(Value::Rank(7)), 7u);
  EXPECT_EQ(Read(Value::Uint16(7)), 7u);
  EXPECT_EQ(Read(Value::Uint64(7)), 7u);
  EXPECT_EQ(Read(Value::Int32(7)), 7u);
}

TEST(RankTest, SpecialRanksMayBeNegative) {
  EXPECT_EQ(Read(Value::Rank(kRankWildcard)), kRankWildcard);
  EXPECT_EQ(Read(Value::Int32(-2)), kRankWildcard);
  EXPECT_EQ(Read(Value::Int(-1)), kRankUndef);
  EXPECT_EQ(Read(Value::Int32(-50)), kRankValid + 1);
}

TEST(RankTest, ValuesOutsideTheRangeOfRanksAreRefused) {
  EXPECT_EQ(Read(Value::Int32(-51)), std::nullopt);
  EXPECT_EQ(Read(Value::Uint64(uint64_t{UINT32_MAX} + 1)), std::nullopt);
  EXPECT_EQ(Read(Value::String("7")), std::nullopt);
  EXPECT_EQ(Read(Value()), std::nullopt);
}

}  // namespace
}  // namespace canopy
