#include "common/one_of.h"

#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "common/one_of_members.h"

namespace canopy {
namespace {

struct Alternatives {
  using Variant = std::variant<int, std::string, std::vector<int>>;
};
using Value = OneOf<Alternatives>;

static_assert(std::is_nothrow_move_constructible_v<Value>);
static_assert(std::is_nothrow_move_assignable_v<Value>);
static_assert(std::is_convertible_v<std::string, Value>);
static_assert(!std::is_convertible_v<const char*, Value>);

TEST(OneOf, BeginsWithTheFirstAlternative) {
  const Value value;
  EXPECT_EQ(std::get<int>(value), 0);
}

TEST(OneOf, IsCopiedMovedAndAssignedLikeAVariant) {
  const std::string text(100, 'x');
  Value value = text;
  Value copy = value;
  EXPECT_EQ(std::get<std::string>(copy), text);
  const Value moved = std::move(value);
  EXPECT_EQ(std::get<std::string>(moved), text);
  copy = Value(std::vector<int>{1, 2});
  EXPECT_EQ(std::get<std::vector<int>>(copy).size(), 2u);
  copy = moved;
  EXPECT_TRUE(std::holds_alternative<std::string>(copy));
}

TEST(OneOf, IsVisitedLikeAVariant) {
  const Value value = std::vector<int>{1, 2, 3};
  EXPECT_EQ(value.index(), 2u);
  EXPECT_EQ(std::get_if<int>(&value), nullptr);
  const size_t bytes =
      std::visit([](const auto& held) { return sizeof(held); }, value);
  EXPECT_EQ(bytes, sizeof(std::vector<int>));
}

}  // namespace
}  // namespace canopy
