// Tests the decoder with bytes that no correct peer writes.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/hex.h"
#include "common/values/value_ops.h"
#include "tests/codec/hex.h"
#include "tests/codec/samples.h"

namespace canopy {
namespace {

const std::vector<CodecForm>& Forms() {
  static const std::vector<CodecForm> forms = [] {
    CodecForm described = kModernForm, described_v3 = kV3Form,
              newest = kModernForm;
    described.described = described_v3.described = true;
    newest.undef_array_has_size = false;
    return std::vector<CodecForm>{kModernForm, kV3Form, described, described_v3,
                                  newest};
  }();
  return forms;
}

// Reads one call of the sample's type with every function. The reads may fail,
// but must do no harm.
void ReadAnyhow(const std::string& bytes, pmix_data_type_t id,
                const CodecForm& form) {
  const TypeInfo& type = *FindType(id);
  std::vector<char> memory(4 * type.size);
  Decoder decoder(bytes, form);
  decoder.set_memory_limit(1 << 20);
  size_t count = 0;
  const bool read = decoder.UnpackElements(id, 4, memory.data(), &count);
  EXPECT_EQ(read, decoder.ok());
  for (size_t i = 0; i < count; ++i) {
    DestructElement(type, memory.data() + i * type.size);
  }
  Decoder skipper(bytes, form);
  if (skipper.UnpackCount(id, &count)) skipper.SkipElements(id, count);
  // Elements that can be built can also be skipped.
  if (read) {
    EXPECT_EQ(skipper.rest(), decoder.rest());
  }
  Value value;
  (void)DecodeValue(bytes, value.mutable_raw(), form);
}

TEST(HostileTest, TruncationAtEveryByteIsRejected) {
  for (const CodecForm& form : Forms()) {
    for (const Sample& sample : Samples()) {
      Encoder encoder(form);
      encoder.PackCall(sample.type, 1, sample.element);
      const std::string bytes = encoder.Take();
      for (size_t size = 0; size < bytes.size(); ++size) {
        const std::string part = bytes.substr(0, size);
        std::vector<char> memory(FindType(sample.type)->size);
        Decoder decoder(part, form);
        size_t count = 0;
        EXPECT_FALSE(
            decoder.UnpackElements(sample.type, 1, memory.data(), &count))
            << sample.name << " cut to " << size;
        EXPECT_NE(decoder.code(), kSuccess);
        Decoder skipper(part, form);
        EXPECT_FALSE(skipper.UnpackCount(sample.type, &count) &&
                     skipper.SkipElements(sample.type, count))
            << sample.name << " cut to " << size;
      }
    }
  }
}

// The seed is fixed, so that a failure is reproducible.
TEST(HostileTest, DecodingSurvivesRandomChanges) {
  std::mt19937 random(20240611);
  for (const CodecForm& form : Forms()) {
    for (const Sample& sample : Samples()) {
      Encoder encoder(form);
      encoder.PackCall(sample.type, 1, sample.element);
      const std::string bytes = encoder.Take();
      for (int round = 0; round < 200 && !bytes.empty(); ++round) {
        std::string changed = bytes;
        const int changes = 1 + static_cast<int>(random() % 3);
        for (int i = 0; i < changes; ++i) {
          const size_t at = random() % changed.size();
          switch (random() % 4) {
            case 0:
              changed[at] = static_cast<char>(random());
              break;
            case 1:
              changed[at] ^= static_cast<char>(1 << random() % 8);
              break;
            case 2:
              changed.insert(at, 1, static_cast<char>(random()));
              break;
            default:
              changed.insert(at, changed.substr(random() % changed.size(), 4));
          }
        }
        ReadAnyhow(changed, sample.type, form);
      }
    }
  }
}

TEST(HostileTest, DecodingSurvivesRandomBytes) {
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    std::string bytes(random() % 40, '\0');
    // Small numbers are frequent, so that many are valid types, counts and
    // lengths.
    for (char& c : bytes) {
      c = static_cast<char>(random() % (random() % 2 == 0 ? 256 : 80));
    }
    ReadAnyhow(bytes, PMIX_VALUE, Forms()[round % Forms().size()]);
    ReadAnyhow(bytes, PMIX_INFO, Forms()[round % Forms().size()]);
  }
}

int CodeOf(const std::string& hex, CodecForm form = {}) {
  const std::string bytes = Unhex(hex);
  pmix_value_t value;
  const int code = DecodeValue(bytes, &value, form);
  EXPECT_EQ(value.type == PMIX_UNDEF, code != kSuccess) << hex;
  if (code == kSuccess) DestructValue(&value);
  Decoder skipper(bytes, form);
  EXPECT_EQ(skipper.SkipValue() && skipper.done(), code == kSuccess) << hex;
  return code;
}

TEST(HostileTest, CountsLargerThanTheInputAreRefusedAtOnce) {
  // Arrays that claim 2^62 infos, bytes, 32-bit numbers and pointers.
  EXPECT_EQ(CodeOf("27 18 8080808080808080 40 00"), kErrUnpackReadPastEnd);
  EXPECT_EQ(CodeOf("1b 8080808080808080 40 00"), kErrUnpackReadPastEnd);
  EXPECT_EQ(CodeOf("27 09 8080808080808080 40 00"), kErrUnpackReadPastEnd);
  EXPECT_EQ(CodeOf("27 1f 8080808080808080 40 01"), kErrUnpackFailure);
  // The first string is longer than the rest of the input; the second has a
  // negative length.
  EXPECT_EQ(CodeOf("03 feffffff0f 61"), kErrUnpackReadPastEnd);
  EXPECT_EQ(CodeOf("03 01"), kErrUnpackFailure);
}

TEST(HostileTest, IntegersWiderThanTheirTypeAreRefused) {
  EXPECT_EQ(CodeOf("0d 808004"), kErrUnpackFailure);      // 2^16 as 16 bits
  EXPECT_EQ(CodeOf("0e 8080808010"), kErrUnpackFailure);  // 2^32 as 32 bits
  EXPECT_EQ(CodeOf("808004"), kErrUnpackFailure);         // as a type
}

TEST(HostileTest, StringsMustEndAtTheirLength) {
  EXPECT_EQ(CodeOf("03 04 6161"), kErrUnpackFailure);
  EXPECT_EQ(CodeOf("03 06 610061"), kErrUnpackFailure);
  EXPECT_EQ(CodeOf("03 06 610000"), kErrUnpackFailure);
}

TEST(HostileTest, NamesAndKeysThatAreTooLongAreRejected) {
  Encoder encoder;
  encoder.PutUint16(PMIX_PROC);
  encoder.PutString(std::string(256, 'n'));
  encoder.PutUint32(1);
  EXPECT_EQ(CodeOf(ToHex(encoder.Take())), kErrUnpackFailure);
  encoder.PutString(std::string(512, 'k'));
  encoder.PutValue(Value::Bool(true).raw());
  const std::string kval = encoder.Take();
  Decoder decoder(kval);
  KvalView view;
  EXPECT_FALSE(decoder.GetKval(&view));
}

TEST(HostileTest, UnknownTypesAreRefused) {
  EXPECT_EQ(CodeOf("1a 00"), kErrUnknownDataType);  // a nested payload
  EXPECT_EQ(CodeOf("38 00"), kErrUnknownDataType);  // a topology
  EXPECT_EQ(CodeOf("c803"), kErrUnknownDataType);
  EXPECT_EQ(CodeOf("27 38 01 00"), kErrUnknownDataType);
}

TEST(HostileTest, BytesAfterTheValueAreRefused) {
  EXPECT_EQ(CodeOf("0e 05 00"), kErrUnpackFailure);
}

TEST(HostileTest, NestingIsLimited) {
  const auto nested_arrays = [](int depth) {
    std::string hex = "27";
    for (int i = 1; i < depth; ++i) hex += "2701";
    return hex + "0900";
  };
  EXPECT_EQ(CodeOf(nested_arrays(kMaxNesting - 1)), kSuccess);
  EXPECT_EQ(CodeOf(nested_arrays(kMaxNesting)), kErrUnpackFailure);
  EXPECT_EQ(CodeOf(nested_arrays(100000)), kErrUnpackFailure);
  std::string values;
  for (int i = 0; i < 100000; ++i) values += "15";
  EXPECT_EQ(CodeOf(values), kErrUnpackFailure);
}

TEST(HostileTest, AValueOfMaximumNestingCanBeEncodedAndCopied) {
  std::string hex = "27";
  for (int i = 1; i < kMaxNesting - 1; ++i) hex += "2701";
  const std::string bytes = Unhex(hex + "0900");
  Value value;
  ASSERT_EQ(DecodeValue(bytes, value.mutable_raw()), kSuccess);
  EXPECT_EQ(EncodeValue(value.raw()), bytes);
  EXPECT_EQ(EncodeValue(Value(value).raw()), bytes);
}

TEST(HostileTest, DecodingStopsAtTheMemoryLimit) {
  // Many tiny infos, each of which takes hundreds of bytes when decoded.
  Encoder encoder;
  encoder.PutUint16(PMIX_DATA_ARRAY);
  encoder.PutUint16(PMIX_INFO);
  encoder.PutSize(1000);
  for (int i = 0; i < 1000; ++i) encoder.PutRaw(std::string("\2\0\0\0", 4));
  const std::string bytes = encoder.Take();
  Decoder decoder(bytes);
  decoder.set_memory_limit(100000);
  pmix_value_t value;
  EXPECT_FALSE(decoder.GetValue(&value));
  EXPECT_EQ(decoder.code(), kErrOutOfResource);
}

TEST(HostileTest, ADecoderThatHasFailedDecodesNothingMore) {
  const std::string bytes = Unhex("02 02 05");
  Decoder decoder(bytes);
  size_t number = 0;
  std::string_view text;
  EXPECT_FALSE(decoder.UnpackString(&text));
  EXPECT_FALSE(decoder.UnpackSize(&number));
  EXPECT_TRUE(decoder.AtEnd());
  EXPECT_FALSE(decoder.done());
}

TEST(HostileTest, MoreElementsThanTheCallerAcceptsAreRefused) {
  const std::string bytes = Unhex("06 01 02 03");
  uint32_t numbers[2] = {};
  Decoder decoder(bytes);
  size_t count = 0;
  EXPECT_FALSE(decoder.UnpackElements(PMIX_UINT32, 2, numbers, &count));
  EXPECT_EQ(decoder.code(), kErrUnpackInadequateSpace);
  EXPECT_EQ(numbers[0], 0u);
}

TEST(HostileTest, TheEncoderRefusesValuesNestedTooDeeply) {
  // Values nested in values, deeper than a reader would accept.
  std::vector<pmix_value_t> values(kMaxNesting + 2);
  values[0].type = PMIX_BOOL;
  for (size_t i = 1; i < values.size(); ++i) {
    values[i].type = PMIX_VALUE;
    values[i].data.ptr = &values[i - 1];
  }
  EXPECT_EQ(EncodeValue(values.back()), "");
  EXPECT_NE(EncodeValue(values[10]), "");
}

}  // namespace
}  // namespace canopy
