#include "server/openpmix/request_list.h"

#include <gtest/gtest.h>

#include "common/growth_testing.h"

namespace canopy::openpmix {
namespace {

std::vector<uint32_t> Tags(const RequestList& list) {
  std::vector<uint32_t> tags;
  for (const RequestList::Request& request : list.InOrder()) {
    tags.push_back(request.tag);
  }
  return tags;
}

TEST(RequestList, TheOldestRequestWithATagIsTaken) {
  RequestList list;
  list.Add({5, "first"});
  list.Add({6, "second"});
  list.Add({6, "third"});
  list.Add({5, "fourth"});
  EXPECT_EQ(list.Take(6)->payload, "second");
  EXPECT_EQ(list.Take(5)->payload, "first");
  EXPECT_EQ(list.Take(5)->payload, "fourth");
  EXPECT_FALSE(list.Take(5).has_value());
  EXPECT_EQ(Tags(list), std::vector<uint32_t>{6});
  EXPECT_EQ(list.Take(6)->payload, "third");
  EXPECT_TRUE(list.empty());
}

TEST(RequestList, RequestsAddedFirstPrecedeTheOthers) {
  RequestList list;
  list.Add({1, ""});
  list.Add({2, ""});
  EXPECT_TRUE(list.Take(1).has_value());
  list.AddFirst({{8, ""}, {9, ""}});
  EXPECT_EQ(Tags(list), (std::vector<uint32_t>{8, 9, 2}));
  EXPECT_EQ(list.size(), 3u);
  EXPECT_TRUE(list.Take(9).has_value());
  EXPECT_EQ(Tags(list), (std::vector<uint32_t>{8, 2}));
}

// A client leaves its first requests unanswered, and sends the others with one
// tag or with many.
TEST(RequestList, TheCostOfAnswersBehindWaitingRequestsIsLinear) {
  for (const uint32_t tags : {1u, 1u << 20}) {
    const auto work = [tags](size_t n) {
      RequestList list;
      for (size_t i = 0; i < n; ++i) list.Add({0, ""});
      const auto tag = [tags](size_t i) {
        return 1 + static_cast<uint32_t>(i) % tags;
      };
      for (size_t i = 0; i < n; ++i) list.Add({tag(i), ""});
      for (size_t i = 0; i < n; ++i) list.Take(tag(i));
      EXPECT_EQ(list.size(), n);
    };
    EXPECT_LT(GrowthOf(2000, work), kAlmostLinear) << tags;
  }
}

}  // namespace
}  // namespace canopy::openpmix
