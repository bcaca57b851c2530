#include "common/codec/transcode.h"

#include <gtest/gtest.h>

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "common/values/zlib_access.h"

namespace canopy {
namespace {

TEST(TranscodeTest, ConvertsBetweenForms) {
  const Value value =
      Value::InfoArray({{"a", Value::Uint32(5)}, {"b", Value::String("text")}});
  const std::string modern = EncodeValue(value.raw());
  const auto old = TranscodeValue(modern, kModernForm, kV3Form);
  ASSERT_TRUE(old.ok());
  EXPECT_EQ(*old, EncodeValue(value.raw(), kV3Form));
  const auto back = TranscodeValue(*old, kV3Form, kModernForm);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, modern);
}

TEST(TranscodeTest, ValuesThatTheOtherFormCannotCarryAreRejected) {
  const std::string modern =
      EncodeValue(Value::Integer(PMIX_JOB_STATE, 3).raw());
  EXPECT_EQ(TranscodeValue(modern, kModernForm, kV3Form).code(),
            kErrUnknownDataType);
  EXPECT_EQ(TranscodeValue("", kModernForm, kV3Form).code(),
            kErrUnpackReadPastEnd);
}

std::string CompressedValue(std::string_view content) {
  Encoder encoder;
  encoder.PutUint16(PMIX_COMPRESSED_STRING);
  encoder.PutBytes(content);
  return encoder.Take();
}

TEST(TranscodeTest, InflatesStrings) {
  const std::string text(5000, 'x');
  const auto plain = InflateString(CompressedValue(*Compress(text)));
  ASSERT_TRUE(plain.has_value());
  EXPECT_EQ((*DecodeValue(*plain)).AsString(), text);
}

TEST(TranscodeTest, LeavesUncompressedValuesUnchanged) {
  EXPECT_FALSE(InflateString(EncodeValue(Value::String("x").raw())));
  EXPECT_FALSE(InflateString(CompressedValue("no zlib stream")));
  EXPECT_FALSE(InflateString(""));
}

}  // namespace
}  // namespace canopy
