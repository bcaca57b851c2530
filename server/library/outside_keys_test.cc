#include "server/library/outside_keys.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/codec/encoder.h"
#include "common/values/value.h"

namespace canopy::library {
namespace {

using Names = std::vector<std::string>;

core::ScopedData Put(core::Scope scope, const Names& keys) {
  Encoder kvals;
  for (const std::string& key : keys) {
    kvals.PutKval(key, Value::Uint32(1).raw());
  }
  return {scope, Bytes(kvals.Take())};
}

TEST(OutsideKeys, KeysOfLocalScopeAreOutside) {
  OutsideKeys keys;
  keys.Add({"job", 0}, {Put(core::Scope::kLocal, {"b", "a"}),
                        Put(core::Scope::kGlobal, {"c"}),
                        Put(core::Scope::kRemote, {"d"})});
  EXPECT_EQ(keys.Of({"job", 0}), (Names{"a", "b"}));
  EXPECT_EQ(keys.Of({"job", 1}), Names{});
}

TEST(OutsideKeys, AKeyPutForOtherNodesIsNotOutside) {
  OutsideKeys keys;
  keys.Add({"job", 0}, {Put(core::Scope::kLocal, {"a", "b", "c"})});
  keys.Add({"job", 0}, {Put(core::Scope::kGlobal, {"a"})});
  keys.Add({"job", 0}, {Put(core::Scope::kRemote, {"b"})});
  EXPECT_EQ(keys.Of({"job", 0}), Names{"c"});
}

TEST(OutsideKeys, StoredNamesOfScopesAreIgnored) {
  OutsideKeys keys;
  keys.Add({"job", 0}, {Put(core::Scope::kLocal, {"a",
                                                  "\x01s"
                                                  "a"})});
  EXPECT_EQ(keys.Of({"job", 0}), Names{"a"});
}

TEST(OutsideKeys, KeysAreDroppedWithTheirJob) {
  OutsideKeys keys;
  keys.Add({"job", 0}, {Put(core::Scope::kLocal, {"a"})});
  keys.Add({"job2", 0}, {Put(core::Scope::kLocal, {"a"})});
  keys.DropJob("job");
  EXPECT_EQ(keys.Of({"job", 0}), Names{});
  EXPECT_EQ(keys.Of({"job2", 0}), Names{"a"});
}

TEST(OutsideKeys, MalformedDataIsIgnored) {
  OutsideKeys keys;
  keys.Add({"job", 0}, {{core::Scope::kLocal, Bytes(std::string("\xff\xff"))}});
  EXPECT_EQ(keys.Of({"job", 0}), Names{});
}

}  // namespace
}  // namespace canopy::library
