// Compares the codec with bytes written by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "common/codec/decimal.h"
#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/hex.h"
#include "common/values/value_ops.h"
#include "tests/codec/hex.h"
#include "tests/codec/samples.h"

namespace canopy {
namespace {

CodecForm Described(CodecForm form) {
  form.described = true;
  return form;
}

std::string Pack(CodecForm form, const Sample& sample) {
  Encoder encoder(form);
  encoder.PackCall(sample.type, 1, sample.element);
  return encoder.Take();
}

// Decodes `bytes` and checks that the element equals the sample and is encoded
// to the same bytes.
void ExpectReadsBack(CodecForm form, const Sample& sample,
                     const std::string& bytes) {
  const TypeInfo& type = *FindType(sample.type);
  std::string memory(type.size, '\xee');
  Decoder decoder(bytes, form);
  size_t count = 0;
  ASSERT_TRUE(decoder.UnpackElements(sample.type, 1, memory.data(), &count))
      << sample.name << ": " << decoder.code();
  EXPECT_EQ(count, 1u);
  EXPECT_TRUE(decoder.done()) << sample.name;
  if (sample.lossless) {
    EXPECT_EQ(CompareElements(type, memory.data(), sample.element), PMIX_EQUAL)
        << sample.name;
  }
  Encoder encoder(form);
  encoder.PackCall(sample.type, 1, memory.data());
  EXPECT_EQ(ToHex(encoder.Take()), ToHex(bytes)) << sample.name;
  DestructElement(type, memory.data());
}

void ExpectSkips(CodecForm form, const Sample& sample,
                 const std::string& bytes) {
  Decoder decoder(bytes, form);
  size_t count = 0;
  EXPECT_TRUE(decoder.UnpackCount(sample.type, &count));
  EXPECT_TRUE(decoder.SkipElements(sample.type, count)) << sample.name;
  EXPECT_TRUE(decoder.done()) << sample.name;
}

TEST(GoldenTest, EveryTypeHasTheGoldenBytesInTheModernForm) {
  for (const Sample& sample : Samples()) {
    const std::string bytes = Unhex("02" + sample.modern);
    EXPECT_EQ(ToHex(Pack(kModernForm, sample)), ToHex(bytes)) << sample.name;
    ExpectReadsBack(kModernForm, sample, bytes);
    ExpectSkips(kModernForm, sample, bytes);
  }
}

TEST(GoldenTest, EveryTypeOfTheFixedFormHasItsGoldenBytes) {
  for (const Sample& sample : Samples()) {
    if (sample.v3.empty()) {
      EXPECT_EQ(Pack(kV3Form, sample), "") << sample.name;
      continue;
    }
    const std::string bytes = Unhex("00000001" + sample.v3);
    EXPECT_EQ(ToHex(Pack(kV3Form, sample)), ToHex(bytes)) << sample.name;
    ExpectReadsBack(kV3Form, sample, bytes);
    ExpectSkips(kV3Form, sample, bytes);
  }
}

TEST(GoldenTest, DescribedCallsContainTheirTypes) {
  const uint32_t number = 5;
  Encoder encoder(Described(kModernForm));
  encoder.PackCall(PMIX_UINT32, 1, &number);
  EXPECT_EQ(ToHex(encoder.Take()), "09020e05");
  Encoder old(Described(kV3Form));
  old.PackCall(PMIX_UINT32, 1, &number);
  EXPECT_EQ(ToHex(old.Take()), "000900000001000e00000005");
  for (const Sample& sample : Samples()) {
    ExpectReadsBack(Described(kModernForm), sample,
                    Pack(Described(kModernForm), sample));
  }
}

TEST(GoldenTest, DescribedCallsOfAnotherTypeAreRefused) {
  const std::string decoder_bytes = Unhex("09020e05");
  Decoder decoder(decoder_bytes, Described(kModernForm));
  size_t number = 0;
  EXPECT_FALSE(decoder.UnpackSize(&number));
  EXPECT_EQ(decoder.code(), kErrTypeMismatch);
}

TEST(GoldenTest, EveryTypeHasASample) {
  std::set<pmix_data_type_t> sampled = {PMIX_UNDEF, PMIX_POINTER,
                                        PMIX_PROC_CPUSET, PMIX_TOPO};
  for (const Sample& sample : Samples()) sampled.insert(sample.type);
  for (pmix_data_type_t type = 0; type < kNumTypes; ++type) {
    EXPECT_EQ(sampled.contains(type), FindType(type) != nullptr) << type;
  }
}

TEST(GoldenTest, SeveralElementsArePackedInOneCall) {
  const uint32_t numbers[] = {1, 300};
  Encoder encoder;
  encoder.PackCall(PMIX_UINT32, 2, numbers);
  EXPECT_EQ(ToHex(encoder.Take()), "0401ac02");
  void* const pointers[] = {nullptr, nullptr};
  encoder.PackCall(PMIX_POINTER, 2, pointers);
  EXPECT_EQ(ToHex(encoder.Take()), "0401");
}

TEST(GoldenTest, CpusetsAreEncodedAsLists) {
  pmix_value_t value;
  const std::string bytes = Unhex("34 0a 302d3300");
  const int code = DecodeValue(Unhex("34 08 302d3300"), &value);
  if (code == kErrNotSupported) GTEST_SKIP() << "no hwloc here";
  ASSERT_EQ(code, kSuccess);
  EXPECT_EQ(ToHex(EncodeValue(value)), "3408302d3300");
  const Value copy = Value::FromC(value);
  EXPECT_NE(copy.raw().data.cpuset->bitmap, value.data.cpuset->bitmap);
  EXPECT_EQ(CompareValues(copy.raw(), value), PMIX_EQUAL);
  DestructValue(&value);
  // The length does not match the text.
  EXPECT_NE(DecodeValue(bytes, &value), kSuccess);
  // The text is not a list of CPUs.
  EXPECT_EQ(DecodeValue(Unhex("34 08 78797a00"), &value), kErrUnpackFailure);
}

TEST(GoldenTest, ACommandIsPackedAsOneByte) {
  Encoder encoder;
  encoder.PackCommand(3);
  EXPECT_EQ(ToHex(encoder.Take()), "0203");
}

TEST(GoldenTest, KeyValuePairsAreUnpackedAndPackedUnchanged) {
  Encoder encoder;
  encoder.PackKval("k", Value::Uint32(5).raw());
  const std::string bytes = encoder.Take();
  EXPECT_EQ(ToHex(bytes), "02046b000e05");
  Decoder decoder(bytes);
  KvalView kval;
  ASSERT_TRUE(decoder.UnpackKval(&kval));
  EXPECT_EQ(kval.key, "k");
  EXPECT_EQ(kval.type, PMIX_UINT32);
  EXPECT_EQ(ToHex(kval.value), "0e05");
  EXPECT_EQ((*DecodeValue(kval.value)).AsUint64(), 5u);
  encoder.PackKvalEncoded(kval.key, kval.value);
  EXPECT_EQ(encoder.Take(), bytes);
}

TEST(GoldenTest, ANestedPayloadIsUnpacked) {
  const std::string bytes = Unhex("0201027879");
  Decoder decoder(bytes);
  std::string_view payload;
  CodecForm form;
  ASSERT_TRUE(decoder.UnpackBuffer(&payload, &form));
  EXPECT_EQ(payload, "xy");
  EXPECT_FALSE(form.described);
}

TEST(GoldenTest, ArraysWithoutATypeAreReadInBothForms) {
  const std::string with_size_bytes = Unhex("27 00 00");
  Decoder with_size(with_size_bytes);
  pmix_value_t value;
  EXPECT_TRUE(with_size.GetValue(&value));
  EXPECT_TRUE(with_size.done());
  DestructValue(&value);
  CodecForm newer;
  newer.undef_array_has_size = false;
  const std::string without_bytes = Unhex("27 00");
  Decoder without(without_bytes, newer);
  EXPECT_TRUE(without.GetValue(&value));
  EXPECT_TRUE(without.done());
  DestructValue(&value);
}

TEST(GoldenTest, NullDataArraysAreEncodedAsEmptyOnes) {
  pmix_value_t value = {};
  value.type = PMIX_DATA_ARRAY;
  EXPECT_EQ(ToHex(EncodeValue(value)), "271800");
}

TEST(GoldenTest, ValuesThatCannotBeEncodedAreRefused) {
  pmix_value_t value = {};
  value.type = PMIX_TOPO;
  EXPECT_EQ(EncodeValue(value), "");
  value.type = 200;
  EXPECT_EQ(EncodeValue(value), "");
  value.type = PMIX_PROC;  // without a proc
  EXPECT_EQ(EncodeValue(value), "");
  CodecForm older;
  older.max_type = PMIX_STOR_ACCESS_TYPE;
  EXPECT_EQ(EncodeValue(Value::Integer(PMIX_ALLOC_INHERIT, 1).raw(), older),
            "");
}

TEST(GoldenTest, TheFlagOfPersistentContentIsNotDecoded) {
  pmix_info_t info;
  const std::string decoder_bytes = Unhex("04 6b00 11 03 04 7800");
  Decoder decoder(decoder_bytes);
  ASSERT_TRUE(decoder.GetInfo(&info));
  EXPECT_EQ(info.flags, PMIX_INFO_REQD);
  DestructInfo(&info);
}

TEST(DecimalTest, FormattedNumbersAreParsedBackExactly) {
  const double numbers[] = {0.0,
                            -0.0,
                            0.1,
                            1e-300,
                            1.0 / 3,
                            -123456.789,
                            std::numeric_limits<double>::max(),
                            std::numeric_limits<double>::denorm_min(),
                            std::numeric_limits<double>::infinity()};
  for (const double number : numbers) {
    EXPECT_EQ(ParseDouble(FormatDouble(number).c_str()), number);
    const float narrow = static_cast<float>(number);
    EXPECT_EQ(ParseFloat(FormatFloat(narrow).c_str()), narrow);
  }
  EXPECT_TRUE(std::isnan(*ParseDouble(
      FormatDouble(std::numeric_limits<double>::quiet_NaN()).c_str())));
  EXPECT_EQ(FormatDouble(0.5), "0.500000");
  EXPECT_EQ(ParseDouble("1.5x"), std::nullopt);
  EXPECT_EQ(ParseDouble(""), std::nullopt);
}

}  // namespace
}  // namespace canopy
