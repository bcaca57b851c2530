#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/values/info_list.h"
#include "common/values/value.h"
#include "common/values/value_ops.h"

namespace canopy {
namespace {

TEST(ValueTest, StartsEmptyAndReadsAsTrue) {
  Value value;
  EXPECT_TRUE(value.empty());
  EXPECT_EQ(value.AsBool(), true);
  EXPECT_EQ(value.AsString(), std::nullopt);
  EXPECT_EQ(value.AsUint64(), std::nullopt);
}

TEST(ValueTest, KeepsStrings) {
  Value value = Value::String("hello");
  EXPECT_EQ(value.type(), PMIX_STRING);
  EXPECT_EQ(value.AsString(), "hello");
  EXPECT_EQ(value.AsUint64(), std::nullopt);
}

TEST(ValueTest, CopiesAreDeep) {
  Value value = Value::String("hello");
  Value copy = value;
  EXPECT_NE(copy.raw().data.string, value.raw().data.string);
  EXPECT_EQ(copy, value);
  value = Value::String("other");
  EXPECT_EQ(copy.AsString(), "hello");
}

TEST(ValueTest, MovingEmptiesTheSource) {
  Value value = Value::String("hello");
  Value moved = std::move(value);
  EXPECT_TRUE(value.empty());  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(moved.AsString(), "hello");
}

TEST(ValueTest, WidensEveryIntegerType) {
  EXPECT_EQ(Value::Uint8(200).AsUint64(), 200u);
  EXPECT_EQ(Value::Uint16(50000).AsUint64(), 50000u);
  EXPECT_EQ(Value::Uint32(UINT32_MAX).AsUint64(), UINT32_MAX);
  EXPECT_EQ(Value::Uint64(UINT64_MAX).AsUint64(), UINT64_MAX);
  EXPECT_EQ(Value::Size(7).AsUint64(), 7u);
  EXPECT_EQ(Value::Rank(9).AsUint64(), 9u);
  EXPECT_EQ(Value::Int32(-5).AsInt64(), -5);
  EXPECT_EQ(Value::Int64(INT64_MIN).AsInt64(), INT64_MIN);
  EXPECT_EQ(Value::Integer(PMIX_SCOPE, 2).AsUint64(), 2u);
}

TEST(ValueTest, RejectsIntegersThatDoNotFit) {
  EXPECT_EQ(Value::Int32(-5).AsUint64(), std::nullopt);
  EXPECT_EQ(Value::Uint64(UINT64_MAX).AsInt64(), std::nullopt);
  EXPECT_EQ(Value::Uint64(uint64_t{1} << 32).AsUint32(), std::nullopt);
  EXPECT_EQ(Value::Bool(true).AsUint64(), std::nullopt);
}

TEST(ValueTest, ReadsTextAsBool) {
  EXPECT_EQ(Value::String(" yes").AsBool(), true);
  EXPECT_EQ(Value::String("FALSE").AsBool(), false);
  EXPECT_EQ(Value::String("0").AsBool(), false);
  EXPECT_EQ(Value::String("maybe").AsBool(), std::nullopt);
  EXPECT_EQ(Value::Uint32(1).AsBool(), std::nullopt);
}

TEST(ValueTest, HoldsProcs) {
  const ProcId proc{"job", 3};
  EXPECT_EQ(Value::Proc(proc).AsProc(), proc);
  const std::vector<ProcId> procs = {{"job", 1}, {"job", 2}};
  const Value array = Value::ProcArray(procs);
  ASSERT_TRUE(array.AsProcs().has_value());
  ASSERT_EQ(array.AsProcs()->size(), 2u);
  EXPECT_EQ(FromC((*array.AsProcs())[1]), procs[1]);
}

TEST(ValueTest, HoldsBytesWithZeros) {
  const std::string bytes("a\0b", 3);
  EXPECT_EQ(Value::ByteObject(bytes).AsBytes(), bytes);
  EXPECT_EQ(Value::ByteObject("").AsBytes(), "");
}

TEST(ValueTest, HoldsNestedInfoArrays) {
  InfoList inner;
  inner.Add("deep", Value::String("x"));
  InfoList outer;
  outer.Add("array", Value::InfoArray(inner));
  Value value = Value::InfoArray(outer);
  const Value copy = value;
  EXPECT_EQ(copy, value);
  value = Value();
  ASSERT_TRUE(copy.AsInfos().has_value());
  const auto nested = InfosOf((*copy.AsInfos())[0].value);
  ASSERT_TRUE(nested.has_value());
  EXPECT_EQ(StringOf((*nested)[0].value), "x");
}

// Returns a value of `depth` data arrays nested in one another.
Value Nest(int depth) {
  Value value = Value::Uint32(1);
  for (int i = 0; i < depth; ++i) {
    InfoList list;
    list.Add("k", std::move(value));
    pmix_value_t raw = {};
    EXPECT_NE(EmplaceValue(&raw, PMIX_DATA_ARRAY, *FindType(PMIX_DATA_ARRAY)),
              nullptr);
    raw.data.darray->type = PMIX_INFO;
    raw.data.darray->array = list.Release(&raw.data.darray->size);
    value = Value::Adopt(&raw);
  }
  return value;
}

TEST(ValueTest, CopiesUpToTheNestingLimitOnly) {
  const Value shallow = Nest(kMaxNesting / 2 - 1);
  EXPECT_EQ(Value(shallow).type(), PMIX_DATA_ARRAY);
  const Value deep = Nest(kMaxNesting / 2 + 1);
  EXPECT_TRUE(Value(deep).empty());
}

TEST(ValueTest, OrdersValues) {
  EXPECT_EQ(CompareValues(Value::Int32(1).raw(), Value::Int32(2).raw()),
            PMIX_VALUE2_GREATER);
  EXPECT_EQ(CompareValues(Value::String("b").raw(), Value::String("a").raw()),
            PMIX_VALUE1_GREATER);
  EXPECT_EQ(CompareValues(Value::Int32(1).raw(), Value::Int64(1).raw()),
            PMIX_VALUE_TYPE_DIFFERENT);
  EXPECT_EQ(
      CompareValues(Value::Proc({"a", 1}).raw(), Value::Proc({"a", 1}).raw()),
      PMIX_EQUAL);
}

TEST(ValueTest, LoadsNullAsTrueFlag) {
  Value value;
  ASSERT_EQ(LoadValue(value.mutable_raw(), nullptr, PMIX_BOOL), PMIX_SUCCESS);
  EXPECT_EQ(value.AsBool(), true);
  EXPECT_EQ(LoadValue(value.mutable_raw(), nullptr, 999),
            PMIX_ERR_UNKNOWN_DATA_TYPE);
}

TEST(InfoListTest, FindsByKeyAndType) {
  InfoList list = {{"a", Value::Uint32(5)},
                   {"b", Value::String("text")},
                   {"c", Value::Bool(false)}};
  EXPECT_EQ(list.FindUint("a"), 5u);
  EXPECT_EQ(list.FindString("b"), "text");
  EXPECT_EQ(list.FindBool("c"), false);
  EXPECT_EQ(list.FindUint("b"), std::nullopt);
  EXPECT_FALSE(list.Has("d"));
}

TEST(InfoListTest, CopiesFromCWithoutSharing) {
  pmix_info_t raw[2];
  ASSERT_EQ(LoadInfo(&raw[0], "k", "v", PMIX_STRING), PMIX_SUCCESS);
  ASSERT_EQ(LoadInfo(&raw[1], "p", "q", PMIX_STRING), PMIX_SUCCESS);
  raw[1].flags = PMIX_INFO_PERSISTENT | PMIX_INFO_REQD | PMIX_INFO_ARRAY_END;
  InfoList list = InfoList::FromC(raw, 2);
  EXPECT_NE(list[0].value.data.string, raw[0].value.data.string);
  EXPECT_EQ(list[1].flags, PMIX_INFO_REQD);
  raw[1].flags = 0;
  DestructInfo(&raw[0]);
  DestructInfo(&raw[1]);
  EXPECT_EQ(list.FindString("p"), "q");
}

TEST(InfoListTest, DoesNotFreePersistentContent) {
  char text[] = "not from malloc";
  InfoList list;
  pmix_info_t info = {};
  info.key[0] = 'k';
  info.flags = PMIX_INFO_PERSISTENT;
  info.value.type = PMIX_STRING;
  info.value.data.string = text;
  list.Adopt(&info);
  list.Set("k", Value::Uint32(1));
  EXPECT_EQ(list.FindUint("k"), 1u);
}

TEST(InfoListTest, SetReplacesAndRemoveErases) {
  InfoList list;
  list.Set("a", Value::Uint32(1));
  list.Set("a", Value::Uint32(2));
  list.Add("b", Value::Uint32(3));
  list.Add("a", Value::Uint32(4));
  EXPECT_EQ(list.size(), 3u);
  EXPECT_EQ(list.FindUint("a"), 2u);
  EXPECT_TRUE(list.Remove("a"));
  EXPECT_FALSE(list.Remove("a"));
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list.FindUint("b"), 3u);
}

TEST(InfoListTest, ReleasesACArray) {
  InfoList list = {{"a", Value::String("x")}, {"b", Value::Uint32(1)}};
  size_t count = 0;
  pmix_info_t* infos = list.Release(&count);
  ASSERT_EQ(count, 2u);
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(infos[0].flags & PMIX_INFO_ARRAY_END, 0u);
  EXPECT_NE(infos[1].flags & PMIX_INFO_ARRAY_END, 0u);
  FreeInfos(infos, count);
}

TEST(InfoListTest, AppendsItself) {
  InfoList list = {{"a", Value::String("x")}};
  list.Append(list);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(StringOf(list[1].value), "x");
}

TEST(InfoListTest, CutsLongKeys) {
  InfoList list;
  list.Add(std::string(600, 'k'), Value::Bool(true));
  EXPECT_EQ(KeyOf(list[0]).size(), kMaxKeyLen);
}

}  // namespace
}  // namespace canopy
