#include "server/pmi/spawn_hints.h"

#include <gtest/gtest.h>

#include "pmix_common.h"

namespace canopy::pmi {
namespace {

TEST(SpawnHintsTest, HintsBecomeAttributes) {
  EXPECT_STREQ(AttributeOfHint("host"), PMIX_HOST);
  EXPECT_STREQ(AttributeOfHint("wdir"), PMIX_WDIR);
  EXPECT_EQ(AttributeOfHint("soft"), nullptr);
  EXPECT_EQ(AttributeOfHint(""), nullptr);
}

TEST(SpawnHintsTest, PreputPairsBecomeVariables) {
  EXPECT_EQ(PreputEntry(3, "port", "a=b c"), "PMI_PREPUT_3=port=a=b c");
  EXPECT_EQ(PreputValueIn("PMI_PREPUT_3=port=a=b c", "port"), "a=b c");
  EXPECT_EQ(PreputValueIn("PMI_PREPUT_0=port=", "port"), "");
  EXPECT_EQ(PreputValueIn("PMI_PREPUT_0=ports=x", "port"), std::nullopt);
  EXPECT_EQ(PreputValueIn("PMI_PREPUT_0=port", "port"), std::nullopt);
  EXPECT_EQ(PreputValueIn("PMI_PREPUT_0", "port"), std::nullopt);
  EXPECT_EQ(PreputValueIn("PORT=port=x", "port"), std::nullopt);
}

}  // namespace
}  // namespace canopy::pmi
