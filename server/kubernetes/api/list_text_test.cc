#include "server/kubernetes/api/list_text.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace canopy::kubernetes {
namespace {

struct Split {
  std::vector<std::string> items;
  std::string metadata;
  bool is_complete = false;
};

Split SplitOf(const std::string& text) {
  ListText list(text);
  Split split;
  std::string_view item;
  ListText::Next next;
  while ((next = list.Take(&item)) == ListText::Next::kItem) {
    split.items.emplace_back(item);
  }
  split.is_complete = next == ListText::Next::kEnd;
  split.metadata = list.metadata();
  return split;
}

using Texts = std::vector<std::string>;

TEST(ListTextTest, FindsTheItemsAndTheMetadata) {
  const Split split = SplitOf(
      R"({"kind":"PodList","metadata":{"resourceVersion":"5"},
          "items":[{"a":[1,"]}\"\\"]}, {"b":{}} ,3,"x,y",null]} )");
  EXPECT_TRUE(split.is_complete);
  EXPECT_EQ(split.metadata, R"({"resourceVersion":"5"})");
  EXPECT_EQ(split.items, (Texts{R"({"a":[1,"]}\"\\"]})", R"({"b":{}})", "3",
                                "\"x,y\"", "null"}));
}

TEST(ListTextTest, AcceptsMembersInAnyOrder) {
  const Split split =
      SplitOf(R"({"items":[1],"other":["items"],"n":-1.5e3,"metadata":{}})");
  EXPECT_TRUE(split.is_complete);
  EXPECT_EQ(split.items, Texts{"1"});
  EXPECT_EQ(split.metadata, "{}");
}

TEST(ListTextTest, AListMayHaveNoItems) {
  for (const char* text :
       {"{}", " { } ", R"({"items":[]})", R"({"items":null})",
        R"({"items":{"a":[1]}})", R"({"items":[],"items":[]})"}) {
    const Split split = SplitOf(text);
    EXPECT_TRUE(split.is_complete) << text;
    EXPECT_TRUE(split.items.empty()) << text;
  }
}

TEST(ListTextTest, RejectsTextThatIsNoList) {
  for (const char* text : {"",
                           "[]",
                           "1",
                           "{",
                           R"({"items")",
                           R"({"items":)",
                           R"({"items":[)",
                           R"({"items":[1)",
                           R"({"items":[1,)",
                           R"({"items":[1,]})",
                           R"({"items":[,1]})",
                           R"({"items":[1 2]})",
                           R"({"items":[1]]})",
                           R"({"items":[1]"a":2})",
                           R"({"items":[1]}})",
                           R"({"items":["a)",
                           R"({"items":["a\)",
                           R"({"items":[{"a":1})",
                           R"({"a":})",
                           R"({"a"})",
                           R"({"a":1,})",
                           R"({:1})"}) {
    EXPECT_FALSE(SplitOf(text).is_complete) << text;
  }
}

}  // namespace
}  // namespace canopy::kubernetes
