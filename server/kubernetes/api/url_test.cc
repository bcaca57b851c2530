#include "server/kubernetes/api/url.h"

#include <gtest/gtest.h>

namespace canopy::kubernetes {
namespace {

TEST(UrlTest, EscapesEverythingButUnreservedCharacters) {
  EXPECT_EQ(UrlEscaped("aZ09-._~"), "aZ09-._~");
  EXPECT_EQ(UrlEscaped("a/b?c=d&e f%\xc3\xa4\n"),
            "a%2Fb%3Fc%3Dd%26e%20f%25%C3%A4%0A");
}

TEST(UrlTest, AddsAQueryWithoutEmptyValues) {
  EXPECT_EQ(WithQuery("/a", {}), "/a");
  EXPECT_EQ(WithQuery("/a", {{"b", ""}}), "/a");
  EXPECT_EQ(WithQuery("/a", {{"b", "1"}, {"c", ""}, {"d", "x=y"}}),
            "/a?b=1&d=x%3Dy");
}

TEST(UrlTest, AcceptsPathsThatCanStandInARequest) {
  EXPECT_TRUE(IsUrlPath("/"));
  EXPECT_TRUE(IsUrlPath("/api/v1/pods?limit=1&labelSelector=a%3Db"));
  for (const char* text : {"", "a", "/a b", "/a\n", "/\x7f", "/\xc3\xa4"}) {
    EXPECT_FALSE(IsUrlPath(text)) << text;
  }
}

}  // namespace
}  // namespace canopy::kubernetes
