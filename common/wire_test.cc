#include "common/wire.h"

#include <gtest/gtest.h>

#include <limits>

namespace canopy {
namespace {

TEST(Wire, RoundTrip) {
  WireWriter w;
  w.Uint(0);
  w.Uint(300);
  w.Uint(std::numeric_limits<uint64_t>::max());
  w.Int(std::numeric_limits<int64_t>::min());
  w.Int(-1);
  w.Bool(true);
  w.String("hello");
  w.Proc({"job", 7});
  WireReader r(w.str());
  EXPECT_EQ(r.Uint(), 0u);
  EXPECT_EQ(r.Uint(), 300u);
  EXPECT_EQ(r.Uint(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(r.Int(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(r.Int(), -1);
  EXPECT_TRUE(r.Bool());
  EXPECT_EQ(r.String(), "hello");
  EXPECT_EQ(r.Proc(), (ProcId{"job", 7}));
  EXPECT_TRUE(r.done());
}

TEST(Wire, TruncationFailsAtEveryByte) {
  WireWriter w;
  w.String("abc");
  w.Uint(70000);
  const std::string all = w.str();
  for (size_t n = 0; n < all.size(); ++n) {
    WireReader r(std::string_view(all).substr(0, n));
    r.String();
    r.Uint();
    EXPECT_FALSE(r.ok()) << n;
  }
}

TEST(Wire, RefusesOverlongIntegerAndFalseCounts) {
  WireReader overlong("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f");
  overlong.Uint();
  EXPECT_FALSE(overlong.ok());
  WireWriter w;
  w.Uint(1u << 30);
  WireReader r(w.str());
  EXPECT_EQ(r.Count(), 0u);
  EXPECT_FALSE(r.ok());
}

}  // namespace
}  // namespace canopy
