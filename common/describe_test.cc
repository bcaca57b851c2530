#include "common/describe.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/bytes.h"

namespace canopy {
namespace {

enum class Colour : uint8_t { kRed, kGreen, kBlue };

struct Inner {
  uint32_t number = 7;  // a default other than 0
  bool operator==(const Inner&) const = default;
};

template <typename V>
void Describe(V& v, wire::Is<Inner> auto& m) {
  v.Field(1, m.number);
}

struct Outer {
  bool flag = false;
  int status = 0;
  int64_t time = 0;
  std::string text;
  std::vector<std::string> texts;
  std::vector<uint32_t> numbers;
  std::optional<std::vector<uint32_t>> ranks;
  std::optional<uint64_t> request;
  std::vector<Inner> inners;
  std::optional<Inner> inner;
  Colour colour = Colour::kRed;

  bool operator==(const Outer&) const = default;
};

template <typename V>
void Describe(V& v, wire::Is<Outer> auto& m) {
  v.Field(1, m.flag);
  v.Field(2, m.status);
  v.Field(3, m.time);
  v.Bounded(4, m.text, 8);
  v.Field(5, m.texts);
  v.Field(6, m.numbers);
  v.Field(7, m.ranks);
  v.Field(8, m.request);
  v.Field(9, m.inners);
  v.Field(10, m.inner);
  v.Choice(11, m.colour, Colour::kGreen);
}

struct Later {
  bool flag = true;
  Bytes data;
  std::string note = "new";
};

template <typename V>
void Describe(V& v, wire::Is<Later> auto& m) {
  v.Field(1, m.flag);
  v.Field(20, m.data);
  v.Field(21, m.note);
}

Outer Full() {
  return {true,          -1,
          INT64_MIN,     "12345678",
          {"", "b"},     {0, 300, UINT32_MAX},
          {{1, 2}},      {0},
          {{0}, {9}},    Inner{UINT32_MAX},
          Colour::kGreen};
}

Outer RoundTrip(const Outer& message) {
  Outer back;
  EXPECT_TRUE(wire::Decode(std::string_view(wire::Encode(message)), &back));
  return back;
}

TEST(DescribeTest, MessagesSurviveEncoding) {
  EXPECT_EQ(RoundTrip(Outer()), Outer());
  EXPECT_EQ(RoundTrip(Full()), Full());
  EXPECT_TRUE(wire::Encode(Outer()).empty());
}

TEST(DescribeTest, AnEmptyOptionalListSurvivesEncoding) {
  Outer message;
  message.ranks.emplace();
  message.request = 0;
  EXPECT_EQ(RoundTrip(message), message);
}

TEST(DescribeTest, UnknownFieldsAreSkippedAndAbsentOnesAreZero) {
  const std::string later = wire::Encode(Later());
  Outer read;
  ASSERT_TRUE(wire::Decode(std::string_view(later), &read));
  EXPECT_TRUE(read.flag);
  Inner inner;
  ASSERT_TRUE(wire::Decode(std::string_view(), &inner));
  EXPECT_EQ(inner.number, 0u);
}

struct Views {
  std::string_view text;
  std::vector<std::string_view> texts;
  std::vector<int> codes;
  std::optional<int> code;
  std::optional<std::string> name;
  uint32_t count = 0;

  bool operator==(const Views&) const = default;
};

template <typename V>
void Describe(V& v, wire::Is<Views> auto& m) {
  v.Bounded(1, m.text, 4);
  v.Bounded(2, m.texts, 2);
  v.Field(3, m.codes);
  v.Field(4, m.code);
  v.Field(5, m.name);
  v.Always(6, m.count);
}

TEST(DescribeTest, ViewsPointIntoTheBuffer) {
  const Views message{"text", {"a", ""}, {-1, 0, INT32_MIN}, 0, "", 0};
  const std::string bytes = wire::Encode(message);
  Views read;
  ASSERT_TRUE(wire::Decode(bytes, &read));
  EXPECT_EQ(read, message);
  EXPECT_GE(read.text.data(), bytes.data());
  EXPECT_LT(read.text.data(), bytes.data() + bytes.size());
}

TEST(DescribeTest, AnAlwaysWrittenFieldIsEncodedEvenIfZero) {
  EXPECT_EQ(wire::Encode(Views()).size(), 2u);
}

TEST(DescribeTest, ListsBeyondTheirLimitsAreMalformed) {
  Views message;
  message.texts = {"a", "b", "c"};
  const std::string bytes = wire::Encode(message);
  Views read;
  EXPECT_FALSE(wire::Decode(bytes, &read));
}

TEST(DescribeTest, SignedNumbersKeepTheirRange) {
  std::string wide;
  const std::vector<int64_t> numbers = {int64_t{INT32_MAX} + 1};
  wide.resize(16);
  wire::Writer writer(wide.data());
  writer.Field(3, numbers);
  wide.resize(static_cast<size_t>(writer.end() - wide.data()));
  Views read;
  EXPECT_FALSE(wire::Decode(wide, &read));
}

TEST(DescribeTest, ReadingReplacesTheFormerContent) {
  Outer read = Full();
  ASSERT_TRUE(wire::Decode(std::string_view(), &read));
  EXPECT_EQ(read, Outer());
}

TEST(DescribeTest, AppendingKeepsTheFormerContent) {
  std::string out = "head";
  wire::Append(Full(), &out);
  EXPECT_EQ(out, "head" + wire::Encode(Full()));
}

TEST(DescribeTest, DecodedBytesShareTheBuffer) {
  Later message;
  message.data = Bytes(std::string("payload"));
  const Bytes whole(wire::Encode(message));
  Later read;
  ASSERT_TRUE(wire::Decode(whole, &read));
  EXPECT_EQ(read.data.view(), "payload");
  EXPECT_GE(read.data.view().data(), whole.view().data());
  EXPECT_LT(read.data.view().data(), whole.view().data() + whole.size());
  ASSERT_TRUE(wire::Decode(whole.view(), &read));
  EXPECT_EQ(read.data.view(), "payload");
  EXPECT_NE(read.data.view().data(), whole.view().data());
}

TEST(DescribeTest, ValuesBeyondTheirLimitsAreMalformed) {
  Outer read;
  Outer message;
  message.text = "123456789";
  EXPECT_FALSE(wire::Decode(std::string_view(wire::Encode(message)), &read));
  message = {};
  message.colour = Colour::kBlue;
  EXPECT_FALSE(wire::Decode(std::string_view(wire::Encode(message)), &read));
  EXPECT_FALSE(wire::Decode(std::string_view("\x08\x02", 2), &read)) << "flag";
}

TEST(DescribeTest, WrongTypesAndLengthsAreMalformed) {
  Outer read;
  EXPECT_FALSE(wire::Decode(std::string_view("\x0a\x01x", 3), &read));
  EXPECT_FALSE(wire::Decode(std::string_view("\x22\x05"
                                             "abc",
                                             5),
                            &read));
  EXPECT_FALSE(wire::Decode(std::string_view("\x00", 1), &read)) << "tag 0";
  const std::string bytes = wire::Encode(Full());
  for (size_t n = 0; n < bytes.size(); ++n) {
    Outer part;
    wire::Decode(std::string_view(bytes).substr(0, n), &part);
  }
}

}  // namespace
}  // namespace canopy
