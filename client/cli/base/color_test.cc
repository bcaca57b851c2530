#include "client/cli/base/color.h"

#include <gtest/gtest.h>

#include <map>

#include "client/cli/base/table.h"

namespace canopy::cli {
namespace {

bool Wants(const std::string& when, bool terminal,
           const std::map<std::string, std::string>& set) {
  return WantsColor(when, terminal, [&set](const char* name) {
    const auto it = set.find(name);
    return it == set.end() ? nullptr : it->second.c_str();
  });
}

TEST(ColorTest, ColorsAreUsedOnATerminalUnlessDisabled) {
  EXPECT_TRUE(Wants("auto", true, {{"TERM", "xterm"}}));
  EXPECT_FALSE(Wants("auto", false, {{"TERM", "xterm"}}));
  EXPECT_FALSE(Wants("auto", true, {{"TERM", "dumb"}}));
  EXPECT_FALSE(Wants("auto", true, {{"TERM", "xterm"}, {"NO_COLOR", "1"}}));
  EXPECT_TRUE(Wants("auto", true, {{"TERM", "xterm"}, {"NO_COLOR", ""}}));
  EXPECT_TRUE(Wants("always", false, {{"NO_COLOR", "1"}}));
  EXPECT_FALSE(Wants("never", true, {{"TERM", "xterm"}}));
}

TEST(ColorTest, ColorsTakeNoWidthInATable) {
  EXPECT_EQ(Bad("x"), "x");
  UseColor(true);
  Table table({"A", "B"});
  table.Add({Bad("lost"), "1"});
  EXPECT_EQ(table.ToString(), "A     B\n\033[31mlost\033[0m  1\n");
  UseColor(false);
}

}  // namespace
}  // namespace canopy::cli
