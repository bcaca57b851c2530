#include "common/codec/seek_info.h"

#include <gtest/gtest.h>

#include <string>

#include "common/codec/infos.h"
#include "common/values/info_list.h"
#include "common/values/value.h"

namespace canopy {
namespace {

std::string Infos() {
  const InfoList infos{
      {"a", Value::String("text")}, {"b", Value::Int(1)}, {"b", Value::Int(2)}};
  std::string bytes;
  EXPECT_EQ(EncodeInfos(infos.data(), infos.size(), &bytes), kSuccess);
  return bytes;
}

TEST(SeekInfo, FindsTheFirstValueOfAKey) {
  const std::string bytes = Infos();
  Decoder in(bytes);
  ASSERT_TRUE(SeekInfo("b", &in));
  Value value;
  ASSERT_TRUE(in.GetValue(&value));
  EXPECT_EQ(value.AsUint64(), 1u);
}

TEST(SeekInfo, AnAbsentKeyIsNotFound) {
  const std::string bytes = Infos();
  Decoder in(bytes);
  EXPECT_FALSE(SeekInfo("c", &in));
  Decoder nothing("");
  EXPECT_FALSE(SeekInfo("a", &nothing));
}

TEST(SeekInfo, AKeyAfterMalformedBytesIsNotFound) {
  const std::string bytes = Infos();
  const size_t second = bytes.find('b');
  for (size_t size = 0; size < second; ++size) {
    Decoder in(std::string_view(bytes).substr(0, size));
    EXPECT_FALSE(SeekInfo("b", &in)) << size;
  }
}

}  // namespace
}  // namespace canopy
