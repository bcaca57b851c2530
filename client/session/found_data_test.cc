#include "client/session/found_data.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "common/codec/encoder.h"
#include "common/values/value.h"

namespace canopy::client {
namespace {

std::string Payload(std::initializer_list<const char*> keys) {
  Encoder encoder;
  encoder.PutSize(keys.size());
  for (const char* key : keys) {
    pmix_pdata_t one = {};
    one.proc = ToC(ProcId{"job-2", 7});
    std::strcpy(one.key, key);
    const Value value = Value::String(std::string("of ") + key);
    one.value = value.raw();
    encoder.PutElement(PMIX_PDATA, &one);
  }
  return encoder.Take();
}

TEST(FoundDataTest, EntriesAreFoundByKey) {
  FoundData found;
  ASSERT_TRUE(found.Decode(Payload({"one", "two"}), 2));
  EXPECT_EQ(found.size(), 2u);
  EXPECT_NE(found.data(), nullptr);
  const pmix_pdata_t* two = found.Find("two");
  ASSERT_NE(two, nullptr);
  EXPECT_STREQ(two->value.data.string, "of two");
  EXPECT_EQ(FromC(two->proc), (ProcId{"job-2", 7}));
  EXPECT_EQ(found.Find("three"), nullptr);
}

TEST(FoundDataTest, AnEmptyPayloadHasNoData) {
  FoundData found;
  ASSERT_TRUE(found.Decode(Payload({"one"}), 1));
  ASSERT_TRUE(found.Decode("", 1));
  EXPECT_EQ(found.size(), 0u);
  EXPECT_EQ(found.data(), nullptr);
  ASSERT_TRUE(found.Decode(Payload({}), 1));
  EXPECT_EQ(found.size(), 0u);
}

TEST(FoundDataTest, MalformedPayloadsAreRejected) {
  FoundData found;
  const std::string good = Payload({"one", "two"});
  EXPECT_FALSE(found.Decode(good, 1));
  EXPECT_FALSE(found.Decode(good + "x", 2));
  for (size_t n = 1; n < good.size(); ++n) {
    EXPECT_FALSE(found.Decode(std::string_view(good).substr(0, n), 2)) << n;
    EXPECT_EQ(found.size(), 0u);
  }
}

TEST(FoundDataTest, AKeyOfMaximumLengthNeedsNoTerminator) {
  pmix_pdata_t data;
  std::memset(data.key, 'k', sizeof(data.key));
  EXPECT_EQ(KeyOfData(data).size(), sizeof(data.key));
}

}  // namespace
}  // namespace canopy::client
