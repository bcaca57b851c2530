#include "common/slice.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace canopy {
namespace {

TEST(SliceTest, ASliceSharesTheOwner) {
  auto text = std::make_shared<const std::string>("one two");
  const Bytes whole(text, *text);
  const Bytes part = SliceOf(whole, whole.view().substr(4));
  EXPECT_EQ(part.view(), "two");
  EXPECT_EQ(part.view().data(), text->data() + 4);
  EXPECT_EQ(text.use_count(), 3);
  EXPECT_EQ(SliceOf(part, part.view().substr(1, 1)).view(), "w");
}

TEST(SliceTest, AnEmptySliceHasNoOwner) {
  auto text = std::make_shared<const std::string>("one");
  const Bytes whole(text, *text);
  EXPECT_TRUE(SliceOf(whole, {}).empty());
  const Bytes none = SliceOf(whole, whole.view().substr(3));
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(text.use_count(), 2);
}

}  // namespace
}  // namespace canopy
