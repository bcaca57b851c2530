#include "server/openpmix/peer_scopes.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "common/bytes.h"
#include "common/codec/encoder.h"
#include "common/codec/stored_key.h"
#include "common/values/value.h"

namespace canopy::openpmix {
namespace {

using core::Scope;
using Blocks = std::vector<std::pair<Scope, std::string>>;

std::string Kval(const std::string& key, const std::string& text) {
  Encoder encoder;
  encoder.PutKval(key, Value::String(text).raw());
  return encoder.Take();
}

std::string Alone(const std::string& key, bool alone) {
  Encoder encoder;
  encoder.PutKval(ScopeNameOf(key), Value::Bool(alone).raw());
  return encoder.Take();
}

Blocks Translated(PeerScopes* scopes, const Blocks& blocks) {
  std::vector<core::ScopedData> data;
  for (const auto& [scope, kvals] : blocks)
    data.push_back({scope, Bytes(kvals)});
  scopes->Translate(&data);
  Blocks out;
  for (const core::ScopedData& one : data) {
    out.emplace_back(one.scope, std::string(one.kvals.view()));
  }
  return out;
}

TEST(PeerScopes, EqualDataInBothScopesBecomesGlobal) {
  PeerScopes scopes;
  const std::string both = Kval("a", "1") + Kval("b", "2");
  EXPECT_EQ(
      Translated(&scopes, {{Scope::kLocal, both}, {Scope::kRemote, both}}),
      (Blocks{{Scope::kGlobal, both}}));
}

TEST(PeerScopes, DifferentValuesStayInTheirScopes) {
  PeerScopes scopes;
  const Blocks blocks =
      Translated(&scopes, {{Scope::kLocal, Kval("g", "1") + Kval("k", "l")},
                           {Scope::kRemote, Kval("k", "r") + Kval("g", "1")}});
  EXPECT_EQ(blocks,
            (Blocks{{Scope::kGlobal, Kval("g", "1")},
                    {Scope::kLocal, Kval("k", "l") + Alone("k", true)},
                    {Scope::kRemote, Kval("k", "r") + Alone("k", true)}}));
}

TEST(PeerScopes, AKeyThatBecomesGlobalLosesItsOneSidedValue) {
  PeerScopes scopes;
  (void)Translated(&scopes, {{Scope::kLocal, Kval("k", "l")}});
  const Blocks both = {{Scope::kLocal, Kval("k", "g")},
                       {Scope::kRemote, Kval("k", "g")}};
  EXPECT_EQ(Translated(&scopes, both),
            (Blocks{{Scope::kGlobal, Kval("k", "g")},
                    {Scope::kLocal, Alone("k", false)}}));
  EXPECT_EQ(Translated(&scopes, both),
            (Blocks{{Scope::kGlobal, Kval("k", "g")}}));
}

TEST(PeerScopes, AnEmptyCommitStaysEmpty) {
  PeerScopes scopes;
  EXPECT_EQ(Translated(&scopes, {}), Blocks{});
}

TEST(PeerScopes, MalformedDataIsUnchanged) {
  PeerScopes scopes;
  const Blocks blocks = {{Scope::kLocal, "\xff\xff"}};
  EXPECT_EQ(Translated(&scopes, blocks), blocks);
}

}  // namespace
}  // namespace canopy::openpmix
