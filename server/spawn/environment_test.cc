#include "server/spawn/environment.h"

#include <gtest/gtest.h>

namespace canopy::spawn {
namespace {

using Kind = EnvarEdit::Kind;

Environment After(const std::vector<EnvarEdit>& edits, Environment env) {
  Apply(edits, &env);
  return env;
}

TEST(EnvironmentTest, SetReplacesAVariableAndAddKeepsIt) {
  EXPECT_EQ(After({{Kind::kSet, "A", "2"}, {Kind::kSet, "B", "3"}}, {"A=1"}),
            (Environment{"A=2", "B=3"}));
  EXPECT_EQ(After({{Kind::kAdd, "A", "2"}, {Kind::kAdd, "B", "3"}}, {"A=1"}),
            (Environment{"A=1", "B=3"}));
}

TEST(EnvironmentTest, UnsetRemovesOneNameOrAllWithAPrefix) {
  const Environment env = {"AB=1", "A=2", "ABC=3"};
  EXPECT_EQ(After({{Kind::kUnset, "A", ""}}, env),
            (Environment{"AB=1", "ABC=3"}));
  EXPECT_EQ(After({{Kind::kUnset, "AB*", ""}}, env), (Environment{"A=2"}));
}

TEST(EnvironmentTest, PrependAndAppendExtendLists) {
  EXPECT_EQ(After({{Kind::kPrepend, "P", "x", ':'}}, {"P=a:b"}),
            (Environment{"P=x:a:b"}));
  EXPECT_EQ(After({{Kind::kAppend, "P", "x", ';'}}, {"P=a"}),
            (Environment{"P=a;x"}));
  EXPECT_EQ(After({{Kind::kAppend, "P", "x", ':'}}, {}), (Environment{"P=x"}));
}

TEST(EnvironmentTest, FirstMovesAnExistingElementToTheFront) {
  EXPECT_EQ(After({{Kind::kFirst, "P", "x", ':'}}, {"P=a:x:b:x"}),
            (Environment{"P=x:a:b"}));
  EXPECT_EQ(After({{Kind::kFirst, "P", "x", ':'}}, {"P=x"}),
            (Environment{"P=x"}));
}

TEST(EnvironmentTest, EditsAreAppliedInTheirOrder) {
  EXPECT_EQ(After({{Kind::kUnset, "A", ""},
                   {Kind::kAdd, "A", "2"},
                   {Kind::kAppend, "A", "3", ':'}},
                  {"A=1"}),
            (Environment{"A=2:3"}));
}

// If each edit searched the whole list, the test would take noticeably long.
TEST(EnvironmentTest, ManyEditsAreAppliedInLittleTime) {
  Environment env;
  std::vector<EnvarEdit> edits;
  for (int i = 0; i < 100'000; ++i) {
    env.push_back("OLD" + std::to_string(i) + "=1");
    edits.push_back(
        {EnvarEdit::Kind::kSet, "NEW" + std::to_string(i), "2", ':'});
  }
  Apply(edits, &env);
  EXPECT_EQ(env.size(), 200'000u);
  EXPECT_EQ(env.back(), "NEW99999=2");
}

TEST(EnvironmentTest, TakeApartKeepsOnlyCommonVariablesInTheBase) {
  Environment base = {"A=1", "B=1", "C=1"};
  const auto own = TakeApart({{"A=1", "B=2"}, {"A=1", "B=1", "C=1"}}, &base);
  EXPECT_EQ(base, (Environment{"A=1", "B=1"})) << "one must not have C";
  EXPECT_EQ(own[0], (Environment{"B=2"}));
  EXPECT_EQ(own[1], (Environment{"C=1"}));
}

}  // namespace
}  // namespace canopy::spawn
