#include "server/core/modex/kval.h"

#include <gtest/gtest.h>

#include <string>

#include "common/codec/encoder.h"

namespace canopy::core {
namespace {

std::string Kval(const std::string& key, const std::string& value) {
  Encoder encoder;
  encoder.PutString(key);
  encoder.PutUint16(PMIX_STRING);
  encoder.PutString(value);
  return encoder.Take();
}

TEST(Kval, TakeKvalIteratesOverThePieces) {
  const std::string both = Kval("a", "1") + Kval("bb", "22");
  std::string_view rest = both;
  KvalPiece piece;
  ASSERT_TRUE(TakeKval(&rest, &piece));
  EXPECT_EQ(piece.key, "a");
  EXPECT_EQ(piece.whole, Kval("a", "1"));
  ASSERT_TRUE(TakeKval(&rest, &piece));
  EXPECT_EQ(piece.key, "bb");
  EXPECT_EQ(piece.whole, Kval("bb", "22"));
  EXPECT_FALSE(TakeKval(&rest, &piece));
  EXPECT_TRUE(rest.empty());
}

TEST(Kval, FindsKeys) {
  const std::string both = Kval("a", "1") + Kval("bb", "22");
  EXPECT_TRUE(HasKey(both, "bb"));
  EXPECT_FALSE(HasKey(both, "b"));
  EXPECT_FALSE(HasKey("", "b"));
}

TEST(Kval, ComparesKeys) {
  const std::string both = Kval("a", "1") + Kval("bb", "22");
  EXPECT_TRUE(HasAllKeys(both, Kval("bb", "other")));
  EXPECT_TRUE(HasAllKeys("", ""));
  EXPECT_FALSE(HasAllKeys(both, Kval("a", "1") + Kval("c", "1")));
}

TEST(Kval, RecognisesMalformedSequences) {
  const std::string good = Kval("a", "1");
  EXPECT_TRUE(AreKvals(""));
  EXPECT_TRUE(AreKvals(good));
  for (size_t cut = 1; cut < good.size(); ++cut) {
    EXPECT_FALSE(AreKvals(good.substr(0, cut))) << cut;
  }
  EXPECT_FALSE(AreKvals(good + "x"));
  EXPECT_FALSE(AreKvals(Kval("", "no key")));
}

}  // namespace
}  // namespace canopy::core
