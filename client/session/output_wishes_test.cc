#include "client/session/output_wishes.h"

#include <gtest/gtest.h>

#include <string>

#include "common/values/value.h"

namespace canopy::client {
namespace {

TEST(OutputWishesTest, DirectivesAboutOutputAreKeptForEachJob) {
  InfoList spawn;
  spawn.Add(PMIX_IOF_TAG_OUTPUT, Value::Bool(true));
  spawn.Add(PMIX_HOST, Value::String("a"));
  spawn.Add(PMIX_IOF_BUFFERING_SIZE, Value::Uint32(8));
  OutputWishes wishes;
  wishes.Note("job", OutputWishes::In({spawn.data(), spawn.size()}));
  EXPECT_EQ(wishes.Of("job").size(), 2u);
  EXPECT_EQ(wishes.Of("job").FindUint(PMIX_IOF_BUFFERING_SIZE), 8u);
  EXPECT_TRUE(wishes.Of("other").empty());
}

TEST(OutputWishesTest, TheDirectivesOfTheOldestJobAreDroppedAtTheLimit) {
  InfoList spawn;
  spawn.Add(PMIX_IOF_XML_OUTPUT, Value::Bool(true));
  OutputWishes wishes;
  for (size_t i = 0; i <= kMaxWishes; ++i) {
    wishes.Note("job" + std::to_string(i),
                OutputWishes::In({spawn.data(), spawn.size()}));
  }
  EXPECT_TRUE(wishes.Of("job0").empty());
  EXPECT_EQ(wishes.Of("job1").size(), 1u);
}

}  // namespace
}  // namespace canopy::client
