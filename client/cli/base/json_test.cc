#include "client/cli/base/json.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace canopy::cli {
namespace {

TEST(JsonTest, MembersKeepTheirOrderAndNumbersAreNumbers) {
  Json document;
  document["job"] = "canopy-1";
  document["age"] = UINT64_MAX;
  EXPECT_EQ(DocumentText(document),
            "{\n \"job\": \"canopy-1\",\n \"age\": 18446744073709551615\n}\n");
  EXPECT_EQ(LineText(document),
            "{\"job\":\"canopy-1\",\"age\":18446744073709551615}\n");
}

TEST(JsonTest, BytesThatAreNotUtf8AreReplaced) {
  EXPECT_EQ(LineText(Json("a\xff")), "\"a\xEF\xBF\xBD\"\n");
}

TEST(JsonTest, MalformedTextIsAnError) {
  EXPECT_EQ(ParseDocument("{\"job\":").code(), kErrUnpackFailure);
  const Result<Json> parsed = ParseDocument("{\"rank\": 3}");
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ((*parsed)["rank"], 3);
}

}  // namespace
}  // namespace canopy::cli
