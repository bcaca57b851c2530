#include "client/session/value_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

namespace canopy::client {
namespace {

Value Read(const ValueStore& store, std::string_view nspace, Rank rank,
           std::string_view key, pmix_scope_t scope = PMIX_SCOPE_UNDEF) {
  Value found;
  store.Read(nspace, rank, key, scope, [&](const Value& v) { found = v; });
  return found;
}

TEST(ValueStore, EachProcessHasItsOwnKeys) {
  ValueStore store;
  store.Put({"a", 1}, "k", Value::Int(1), PMIX_GLOBAL);
  store.Put({"a", 2}, "k", Value::Int(2), PMIX_LOCAL);
  store.Put({"b", 1}, "k", Value::Int(3), PMIX_INTERNAL);
  EXPECT_EQ(Read(store, "a", 1, "k"), Value::Int(1));
  EXPECT_EQ(Read(store, "a", 2, "k"), Value::Int(2));
  EXPECT_EQ(Read(store, "b", 1, "k"), Value::Int(3));
  EXPECT_TRUE(Read(store, "b", 2, "k").empty());
  EXPECT_TRUE(Read(store, "a", 1, "other").empty());
  EXPECT_TRUE(Read(store, "a", 1, "").empty());
}

TEST(ValueStore, AKeyMayHaveAValueForEachScope) {
  ValueStore store;
  store.Put({"a", 1}, "k", Value::Int(1), PMIX_GLOBAL);
  EXPECT_TRUE(Read(store, "a", 1, "k", PMIX_LOCAL).empty());
  EXPECT_EQ(Read(store, "a", 1, "k", PMIX_GLOBAL), Value::Int(1));
  store.Put({"a", 1}, "k", Value::Int(2), PMIX_LOCAL);
  store.Put({"a", 1}, "k", Value::Int(3), PMIX_REMOTE);
  EXPECT_EQ(Read(store, "a", 1, "k", PMIX_LOCAL), Value::Int(2));
  EXPECT_EQ(Read(store, "a", 1, "k", PMIX_REMOTE), Value::Int(3));
  EXPECT_EQ(Read(store, "a", 1, "k", PMIX_GLOBAL), Value::Int(1));
  store.Put({"a", 1}, "k", Value::Int(4), PMIX_LOCAL);
  EXPECT_EQ(Read(store, "a", 1, "k", PMIX_LOCAL), Value::Int(4));
}

TEST(ValueStore, GlobalReplacesLocalAndRemoteButNotInternal) {
  ValueStore store;
  store.Put({"a", 1}, "k", Value::Int(1), PMIX_LOCAL);
  store.Put({"a", 1}, "k", Value::Int(2), PMIX_REMOTE);
  store.Put({"a", 1}, "k", Value::Int(3), PMIX_INTERNAL);
  store.Put({"a", 1}, "k", Value::Int(4), PMIX_GLOBAL);
  EXPECT_TRUE(Read(store, "a", 1, "k", PMIX_LOCAL).empty());
  EXPECT_TRUE(Read(store, "a", 1, "k", PMIX_REMOTE).empty());
  EXPECT_EQ(Read(store, "a", 1, "k", PMIX_INTERNAL), Value::Int(3));
  EXPECT_EQ(Read(store, "a", 1, "k", PMIX_GLOBAL), Value::Int(4));
}

TEST(ValueStore, ADeletedKeyIsReadAsAnEmptyValue) {
  ValueStore store;
  store.Put({"a", 1}, "k", Value::Int(1), PMIX_GLOBAL);
  store.Put({"a", 1}, "k", Value(), PMIX_LOCAL);
  EXPECT_EQ(Read(store, "a", 1, "k"), Value::Int(1)) << "for other nodes";
  store.Put({"a", 1}, "k", Value(), PMIX_GLOBAL);
  bool is_known = store.Read("a", 1, "k", PMIX_SCOPE_UNDEF,
                             [](const Value& v) { EXPECT_TRUE(v.empty()); });
  EXPECT_TRUE(is_known) << "so that no other store is looked into";
  store.Put({"a", 1}, "k", Value::Int(2), PMIX_INTERNAL);
  EXPECT_EQ(Read(store, "a", 1, "k"), Value::Int(2));
  store.EraseInternal({"a", 1}, "k");
  EXPECT_TRUE(Read(store, "a", 1, "k").empty());
  store.Put({"a", 1}, "i", Value::Int(2), PMIX_INTERNAL);
  store.EraseInternal({"a", 1}, "i");
  is_known = store.Read("a", 1, "i", PMIX_SCOPE_UNDEF, [](const Value&) {});
  EXPECT_FALSE(is_known);
  store.EraseInternal({"a", 1}, "i");
  store.EraseInternal({"b", 1}, "i");
}

// A process sees the value for its node, unless it has stored a value of its
// own.
TEST(ValueStore, WithoutAScopeGlobalAndLocalPrecedeRemote) {
  ValueStore store;
  store.Put({"a", 1}, "k", Value::Int(1), PMIX_REMOTE);
  EXPECT_EQ(Read(store, "a", 1, "k"), Value::Int(1));
  store.Put({"a", 1}, "k", Value::Int(2), PMIX_LOCAL);
  EXPECT_EQ(Read(store, "a", 1, "k"), Value::Int(2));
  store.Put({"a", 1}, "k", Value::Int(3), PMIX_GLOBAL);
  store.Put({"a", 1}, "k", Value::Int(4), PMIX_REMOTE);
  EXPECT_EQ(Read(store, "a", 1, "k"), Value::Int(3));
  store.Put({"a", 1}, "k", Value::Int(5), PMIX_INTERNAL);
  EXPECT_EQ(Read(store, "a", 1, "k"), Value::Int(5));
}

TEST(ValueStore, ForEachVisitsEachKeyOnce) {
  ValueStore store;
  store.Put({"a", 1}, "x", Value::Int(1), PMIX_GLOBAL);
  store.Put({"a", 1}, "y", Value::Int(2), PMIX_LOCAL);
  store.Put({"a", 1}, "y", Value::Int(3), PMIX_REMOTE);
  const auto keys = [&](pmix_scope_t scope) {
    std::multiset<std::string> found;
    store.ForEach("a", 1, scope, [&](std::string_view key, const Value&) {
      found.insert(std::string(key));
    });
    return found;
  };
  EXPECT_EQ(keys(PMIX_SCOPE_UNDEF), (std::multiset<std::string>{"x", "y"}));
  EXPECT_EQ(keys(PMIX_LOCAL), (std::multiset<std::string>{"y"}));
}

TEST(ValueStore, ReadersAndWritersMayRunConcurrently) {
  ValueStore store;
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (int i = 1; i <= 2000; ++i) {
      store.Put({"a", 1}, "k", Value::Int(i), PMIX_GLOBAL);
    }
    stop = true;
  });
  int last = 0;
  while (!stop) {
    const Value value = Read(store, "a", 1, "k");
    if (value.empty()) continue;
    const int now = static_cast<int>(*value.AsInt64());
    EXPECT_GE(now, last);
    last = now;
  }
  writer.join();
  EXPECT_EQ(Read(store, "a", 1, "k"), Value::Int(2000));
}

}  // namespace
}  // namespace canopy::client
