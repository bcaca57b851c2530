#include "common/codec/stored_key.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "common/codec/encoder.h"
#include "common/ids.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_common.h"

namespace canopy {
namespace {

TEST(StoredKey, IsStoredNameRejectsOrdinaryKeys) {
  EXPECT_TRUE(IsStoredName(ScopeNameOf("key")));
  EXPECT_FALSE(IsStoredName("key"));
  EXPECT_FALSE(IsStoredName("pmix.key"));
  EXPECT_FALSE(IsStoredName(""));
}

// The names are part of the protocol between agents of different releases.
TEST(StoredKey, ScopeNamesHaveAFixedForm) {
  EXPECT_EQ(ScopeNameOf("btl.tcp.4.1"), "\x01sbtl.tcp.4.1");
  const std::string whole(256, 'k');
  EXPECT_EQ(ScopeNameOf(whole), "\x01s" + whole);
  const std::string longest(kMaxKeyLen, 'k');
  EXPECT_EQ(ScopeNameOf(longest),
            "\x01s" + std::string(240, 'k') + "d4a2e2ccf7d369ac");
  EXPECT_NE(ScopeNameOf(longest), ScopeNameOf(longest.substr(1)));
}

InfoList Qualifiers(std::initializer_list<KeyValue> pairs) {
  InfoList infos;
  for (const KeyValue& pair : pairs) {
    infos.Add(pair.key, pair.value, PMIX_INFO_QUALIFIER);
  }
  return infos;
}

std::string Name(std::string_view key, std::initializer_list<KeyValue> pairs) {
  return QualifiedNameOf(key, Qualifiers(pairs).span());
}

const KeyValue kA = {"a", Value::Int(1)};
const KeyValue kB = {"b", Value::String("x")};

TEST(StoredKey, QualifiedNamesDependOnTheSetOfQualifiers) {
  EXPECT_EQ(Name("k", {}), "k");
  const std::string name = Name("k", {kA});
  EXPECT_TRUE(IsQualifiedName(name));
  EXPECT_TRUE(IsStoredName(name));
  EXPECT_FALSE(IsQualifiedName(ScopeNameOf(name)));
  EXPECT_EQ(QualifiedPrefixOf(name), "\x01q1:k");
  EXPECT_EQ(Name("k", {kA, kB}), Name("k", {kB, kA}));
  EXPECT_EQ(Name("k", {kA, kA}), name);
  EXPECT_NE(Name("k", {kB}), name);
  EXPECT_NE(Name("k", {{"a", Value::Int(2)}}), name);
  EXPECT_NE(Name("k", {{"a", Value::Uint32(1)}}), name);
  EXPECT_NE(Name("kk", {kA}), name);
}

TEST(StoredKey, OnlyMarkedInfosAreQualifiers) {
  InfoList infos = Qualifiers({kA});
  infos.Add("timeout", Value::Int(5));
  EXPECT_EQ(QualifiedNameOf("k", infos.span()), Name("k", {kA}));
}

// The name is part of the protocol between agents of different releases.
TEST(StoredKey, TheNameOfAContextIdIsFixed) {
  EXPECT_EQ(Name("pmix.grp.lclid", {{"pmix.grp.ctxid", Value::Size(7)}}),
            "\x01q14:pmix.grp.lclid1961077ff54e3a79");
}

TEST(StoredKey, AnEncodedQualifierGivesTheSameName) {
  EXPECT_EQ(QualifiedNameOf("k", "a", EncodeValue(Value::Int(1).raw())),
            Name("k", {kA}));
}

TEST(StoredKey, AStoredNameSatisfiesARequestWithFewerQualifiers) {
  const std::string both = Name("k", {kA, kB});
  EXPECT_TRUE(Satisfies(both, both));
  EXPECT_TRUE(Satisfies(both, Name("k", {kA})));
  EXPECT_TRUE(Satisfies(both, Name("k", {kB})));
  EXPECT_FALSE(Satisfies(Name("k", {kA}), both));
  EXPECT_FALSE(Satisfies(both, Name("k", {{"c", Value::Int(1)}})));
  EXPECT_FALSE(Satisfies(both, Name("j", {kA})));
  EXPECT_FALSE(Satisfies(both, "k"));
  EXPECT_FALSE(Satisfies("k", both));
  EXPECT_TRUE(Satisfies("k", "k"));
}

TEST(StoredKey, NamesAreBounded) {
  const std::string longest(kMaxKeyLen, 'k');
  InfoList many;
  for (int i = 0; i < 100; ++i) {
    many.Add(std::to_string(i), Value::Int(i), PMIX_INFO_QUALIFIER);
    const std::string name = QualifiedNameOf(longest, many.span());
    EXPECT_LE(name.size(), kMaxKeyLen);
    EXPECT_TRUE(Satisfies(name, name));
    EXPECT_EQ(Satisfies(name, Name(longest, {{"0", Value::Int(0)}})), i < 12);
  }
}

// Peers may send any name, so a malformed name must do no harm.
TEST(StoredKey, MalformedNamesSatisfyOnlyThemselves) {
  for (const std::string name :
       {"\x01q", "\x01q:", "\x01q9999999999999999999999:k", "\x01q5:k",
        "\x01qx:k", "\x01q1:k+"}) {
    EXPECT_LE(QualifiedPrefixOf(name).size(), name.size());
    EXPECT_TRUE(Satisfies(name, name));
    EXPECT_FALSE(Satisfies(name, Name("k", {kA})));
    EXPECT_FALSE(Satisfies(Name("k", {kA}), name));
  }
}

}  // namespace
}  // namespace canopy
