#include "common/values/number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "common/values/value.h"

namespace canopy {
namespace {

template <typename T>
T Stored(const Value& value, pmix_data_type_t type) {
  T number = 77;
  EXPECT_EQ(StoreNumber(value.raw(), type, &number), PMIX_SUCCESS);
  return number;
}

int Refused(const Value& value, pmix_data_type_t type) {
  uint64_t untouched = 0x5a5a5a5a5a5a5a5a;
  const int code = StoreNumber(value.raw(), type, &untouched);
  EXPECT_EQ(untouched, 0x5a5a5a5a5a5a5a5a);
  return code;
}

TEST(NumberTest, ConvertsBetweenTypes) {
  EXPECT_EQ(Stored<uint64_t>(Value::Uint8(200), PMIX_UINT64), 200u);
  EXPECT_EQ(Stored<int8_t>(Value::Int64(-128), PMIX_INT8), -128);
  EXPECT_EQ(Stored<size_t>(Value::Rank(7), PMIX_SIZE), 7u);
  EXPECT_EQ(Stored<double>(Value::Int32(-3), PMIX_DOUBLE), -3.0);
  EXPECT_EQ(Stored<float>(Value::Double(0.5), PMIX_FLOAT), 0.5f);
  EXPECT_EQ(Stored<int32_t>(Value::Double(-4.0), PMIX_INT32), -4);
  EXPECT_EQ(Stored<uint64_t>(Value::Double(0x1p63), PMIX_UINT64),
            uint64_t{1} << 63);
  EXPECT_TRUE(std::isnan(Stored<float>(
      Value::Double(std::numeric_limits<double>::quiet_NaN()), PMIX_FLOAT)));
}

TEST(NumberTest, RejectsLossyConversions) {
  EXPECT_EQ(Refused(Value::Uint32(256), PMIX_UINT8), PMIX_ERR_LOST_PRECISION);
  EXPECT_EQ(Refused(Value::Int32(-129), PMIX_INT8), PMIX_ERR_LOST_PRECISION);
  EXPECT_EQ(Refused(Value::Int32(-1), PMIX_SIZE), PMIX_ERR_CHANGE_SIGN);
  EXPECT_EQ(Refused(Value::Double(1.5), PMIX_INT32), PMIX_ERR_LOST_PRECISION);
  EXPECT_EQ(Refused(Value::Double(0x1p64), PMIX_UINT64),
            PMIX_ERR_LOST_PRECISION);
  EXPECT_EQ(Refused(Value::Double(0.1), PMIX_FLOAT), PMIX_ERR_LOST_PRECISION);
  EXPECT_EQ(Refused(Value::Uint64(UINT64_MAX), PMIX_DOUBLE),
            PMIX_ERR_LOST_PRECISION);
  EXPECT_EQ(Refused(Value::Int32((1 << 24) + 1), PMIX_FLOAT),
            PMIX_ERR_LOST_PRECISION);
  EXPECT_EQ(Refused(Value::Double(std::numeric_limits<double>::quiet_NaN()),
                    PMIX_INT32),
            PMIX_ERR_LOST_PRECISION);
}

TEST(NumberTest, RejectsTypesThatAreNotNumbers) {
  EXPECT_EQ(Refused(Value::String("5"), PMIX_INT32), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(Refused(Value::Int32(5), PMIX_STRING), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(Refused(Value::Int32(5), PMIX_PROC), PMIX_ERR_BAD_PARAM);
}

}  // namespace
}  // namespace canopy
