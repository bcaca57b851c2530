#include "common/codec/qualified_value.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/codec/stored_key.h"
#include "common/values/info_list.h"
#include "common/values/value.h"

namespace canopy {
namespace {

InfoList Qualified(const char* key, const char* qualifier) {
  InfoList infos;
  infos.Add(key, Value::Int(5));
  infos.Add(qualifier, Value::Uint32(1), PMIX_INFO_QUALIFIER);
  return infos;
}

TEST(QualifiedValue, TheNameContainsKeyAndQualifiers) {
  const InfoList infos = Qualified("k", "q");
  EXPECT_EQ(StoredNameOf(Value::InfoArray(infos).raw()),
            QualifiedNameOf("k", infos.span().subspan(1)));
  const InfoList plain = {{"k", Value::Int(5)}, {"q", Value::Uint32(1)}};
  EXPECT_EQ(StoredNameOf(Value::InfoArray(plain).raw()), "k");
}

TEST(QualifiedValue, ValuesWithoutKeyAndQualifiersAreNotQualified) {
  EXPECT_FALSE(StoredNameOf(Value::Int(1).raw()));
  EXPECT_FALSE(StoredNameOf(Value::InfoArray(InfoList()).raw()));
  EXPECT_FALSE(StoredNameOf(Value::InfoArray(Qualified("", "q")).raw()));
  EXPECT_FALSE(MeantValueIn(""));
  EXPECT_FALSE(MeantValueIn(EncodeValue(Value::Int(1).raw())));
  EXPECT_FALSE(MeantValueIn(EncodeValue(Value::InfoArray(InfoList()).raw())));
}

TEST(QualifiedValue, MeantValueInReturnsTheValueOfTheCaller) {
  const std::string encoded =
      EncodeValue(Value::InfoArray(Qualified("k", "q")).raw());
  const auto meant = MeantValueIn(encoded);
  ASSERT_TRUE(meant);
  EXPECT_EQ(*DecodeValue(*meant), Value::Int(5));
  for (size_t size = 0; size < encoded.size(); ++size) {
    const std::string begin = encoded.substr(0, size);
    const auto cut = MeantValueIn(begin);
    if (cut) {
      EXPECT_EQ(*cut, *meant);
    }
  }
}

TEST(QualifiedValue, EncodesOneQualifierLikeAnInfoArray) {
  const InfoList infos = Qualified("k", "q");
  EXPECT_EQ(EncodeQualified("k", EncodeValue(Value::Int(5).raw()), "q",
                            EncodeValue(Value::Uint32(1).raw())),
            EncodeValue(Value::InfoArray(infos).raw()));
}

}  // namespace
}  // namespace canopy
