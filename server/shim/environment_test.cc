#include "server/shim/environment.h"

#include <gtest/gtest.h>

namespace canopy::process {
namespace {

std::vector<std::string> Strings(const std::vector<char*>& pointers) {
  EXPECT_EQ(pointers.back(), nullptr);
  return std::vector<std::string>(pointers.begin(), pointers.end() - 1);
}

TEST(Environment, TheLastValueOfANameIsUsed) {
  Environment environment;
  environment.SetAll({"A=1", "B=2", "A=3", "no assignment", "=x", "C="});
  EXPECT_STREQ(environment.Get("A"), "3");
  EXPECT_STREQ(environment.Get("C"), "");
  EXPECT_EQ(environment.Get("D"), nullptr);
  EXPECT_EQ(Strings(environment.Overlay({})),
            (std::vector<std::string>{"A=3", "B=2", "C="}));
}

TEST(Environment, OverlayReturnsAllVariablesAndDoesNotChangeTheBase) {
  Environment environment;
  environment.SetAll({"A=1", "B=2"});
  const std::vector<std::string> extra = {"B=rank", "C=rank", "junk"};
  EXPECT_EQ(Strings(environment.Overlay(extra)),
            (std::vector<std::string>{"A=1", "B=rank", "C=rank"}));
  EXPECT_STREQ(environment.Get("B"), "2");
}

TEST(Environment, AChangeOfACopyDoesNotAffectTheOriginal) {
  Environment base;
  base.Set("A=1");
  Environment copy = base;
  copy.Set("A=2");
  EXPECT_STREQ(base.Get("A"), "1");
  EXPECT_EQ(Strings(copy.Overlay({})), std::vector<std::string>{"A=2"});
}

}  // namespace
}  // namespace canopy::process
