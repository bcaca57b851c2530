#include "server/core/query/query.h"

#include <gtest/gtest.h>

#include "common/status.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "server/core/query/query_testing.h"

namespace canopy::core {
namespace {

constexpr char kProcInfo[] = "pmix.proc.info";

int Parse(const std::vector<TestQuery>& queries, std::vector<Query>* out) {
  out->clear();
  return ParseQueries(Encoded(queries).view(), out);
}

int StatusOf(const InfoList& qualifiers) {
  std::vector<Query> out;
  return Parse({{{"key"}, qualifiers}}, &out);
}

TEST(QueryTest, ParsesKeysAndQualifiers) {
  std::vector<Query> out;
  ASSERT_EQ(Parse({{{"a", "b"}},
                   {{"c"},
                    {{PMIX_NSPACE, Value::String("job")},
                     {PMIX_RANK, Value::Rank(3)},
                     {PMIX_APPNUM, Value::Uint32(2)},
                     {PMIX_NODEID, Value::Uint32(1)},
                     {PMIX_SESSION_ID, Value::Uint32(9)},
                     {PMIX_HOSTNAME, Value::String("node")},
                     {PMIX_NODE_INFO, Value::Bool(true)},
                     {PMIX_JOB_INFO, Value::Bool(false)},
                     {PMIX_QUERY_REFRESH_CACHE, Value::Bool(true)},
                     {PMIX_QUERY_LOCAL_ONLY, Value::Bool(true)},
                     {PMIX_QUERY_REPORT_AVG, Value::Bool(true)},
                     {PMIX_QUERY_REPORT_MINMAX, Value::Bool(true)},
                     {PMIX_TIMEOUT, Value::Int(2)},
                     {PMIX_HOST_ATTRIBUTES, Value::Bool(true)},
                     {"not.known", Value::Int(1)}}}},
                  &out),
            kSuccess);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].keys, (std::vector<std::string>{"a", "b"}));
  EXPECT_FALSE(out[0].names_rank());
  EXPECT_EQ(out[1].proc, (ProcId{"job", 3}));
  EXPECT_EQ(out[1].appnum, 2u);
  EXPECT_EQ(out[1].nodeid, 1u);
  EXPECT_EQ(out[1].session_id, 9u);
  EXPECT_EQ(out[1].hostname, "node");
  EXPECT_EQ(out[1].realm, DataRealm::kNode);
  EXPECT_TRUE(out[1].local_only && out[1].average && out[1].minmax);
  EXPECT_EQ(out[1].timeout_ms, 2000u);
  EXPECT_EQ(out[1].levels, std::vector<std::string>{PMIX_HOST_ATTRIBUTES});
}

// Rule QRY-08 of tests/conformance/rules.tsv.
TEST(QueryTest, AProcessMayBeNamedOnlyOnce) {
  const Value proc = Value::Proc({"job", 3});
  EXPECT_EQ(StatusOf({{PMIX_PROCID, proc}}), kSuccess);
  EXPECT_EQ(StatusOf({{PMIX_PROCID, proc}, {PMIX_RANK, Value::Rank(3)}}),
            kErrBadParam);
  EXPECT_EQ(
      StatusOf({{PMIX_NSPACE, Value::String("job")}, {PMIX_PROCID, proc}}),
      kErrBadParam);
  EXPECT_EQ(StatusOf({{PMIX_PROCID, proc}, {PMIX_PROCID, proc}}), kErrBadParam);
}

TEST(QueryTest, InvalidValuesAreRejected) {
  EXPECT_EQ(StatusOf({{PMIX_NSPACE, Value::Int(3)}}), kErrBadParam);
  EXPECT_EQ(StatusOf({{PMIX_NSPACE, Value::String("")}}), kErrBadParam);
  EXPECT_EQ(StatusOf({{PMIX_RANK, Value::Rank(kRankUndef)}}), kErrBadParam);
  EXPECT_EQ(StatusOf({{PMIX_APPNUM, Value::Uint64(uint64_t{1} << 40)}}),
            kErrBadParam);
  EXPECT_EQ(StatusOf({{PMIX_JOB_INFO, Value::Bool(true)},
                      {kProcInfo, Value::Bool(true)}}),
            kErrBadParam)
      << "two realms";
}

// Rule GEN-11 of tests/conformance/rules.tsv.
TEST(QueryTest, ARequiredUnknownQualifierIsRefused) {
  InfoList qualifiers;
  qualifiers.Add("not.known", Value::Int(1), PMIX_INFO_REQD);
  EXPECT_EQ(StatusOf(qualifiers), kErrNotSupported);
}

struct Effect {
  std::vector<std::string> keys;
  std::string_view qualifier;
  Value value;
  bool has = true;
};

// Rules GEN-10 and GEN-11 of tests/conformance/rules.tsv.
TEST(QueryTest, QualifiersWithoutAnEffectAreRefusedOrListed) {
  const Value yes = Value::Bool(true);
  const Value text = Value::String("text");
  const Value proc = Value::Proc({"job", 0});
  const Effect effects[] = {
      {{PMIX_QUERY_MEMORY_USAGE}, PMIX_QUERY_REPORT_AVG, yes},
      {{PMIX_QUERY_NAMESPACES}, PMIX_QUERY_REPORT_AVG, yes, false},
      {{PMIX_QUERY_NAMESPACES}, PMIX_QUERY_REPORT_AVG, Value::Bool(false)},
      {{PMIX_QUERY_NAMESPACES, PMIX_QUERY_MEMORY_USAGE},
       PMIX_QUERY_REPORT_AVG,
       yes},
      {{PMIX_QUERY_NAMESPACES}, PMIX_NSPACE, text, false},
      {{PMIX_QUERY_PROC_TABLE}, PMIX_NSPACE, text},
      {{PMIX_QUERY_PROC_TABLE}, PMIX_PROCID, proc},
      {{PMIX_QUERY_PROC_TABLE}, PMIX_HOSTNAME, text, false},
      {{PMIX_JOB_SIZE}, PMIX_JOB_INFO, yes},
      {{PMIX_JOB_SIZE}, PMIX_PSET_NAME, text, false},
      {{PMIX_JOB_SIZE}, PMIX_TIMEOUT, Value::Int(1)},
      {{PMIX_QUERY_ATTRIBUTE_SUPPORT, "PMIx_Get"}, PMIX_HOST_ATTRIBUTES, yes},
      {{PMIX_QUERY_ATTRIBUTE_SUPPORT, "PMIx_Get"}, PMIX_PROCID, proc, false},
      {{PMIX_QUERY_PROC_TABLE}, PMIX_ALLOC_QUEUE, text, false},
      {{PMIX_QUERY_QUEUE_STATUS, PMIX_JOB_SIZE}, PMIX_ALLOC_QUEUE, text},
  };
  for (const Effect& effect : effects) {
    std::vector<Query> out;
    InfoList qualifiers;
    qualifiers.Add(effect.qualifier, effect.value, PMIX_INFO_REQD);
    EXPECT_EQ(Parse({{effect.keys, qualifiers}}, &out),
              effect.has ? kSuccess : kErrNotSupported)
        << effect.keys[0] << " " << effect.qualifier;
    ASSERT_EQ(
        Parse({{effect.keys, {{std::string(effect.qualifier), effect.value}}}},
              &out),
        kSuccess);
    EXPECT_EQ(out[0].ignored.empty(), effect.has)
        << effect.keys[0] << " " << effect.qualifier;
  }
}

TEST(QueryTest, KeysAndQualifiersAreBounded) {
  std::vector<Query> out;
  EXPECT_EQ(Parse({}, &out), kErrBadParam);
  EXPECT_EQ(Parse({{{}}}, &out), kErrBadParam);
  EXPECT_EQ(Parse({{{""}}}, &out), kErrBadParam);
  EXPECT_EQ(Parse({{{std::string(kMaxKeyLen + 1, 'k')}}}, &out), kErrBadParam);
  const std::vector<std::string> half(kMaxQueryKeys / 2, "k");
  EXPECT_EQ(Parse({{half}, {half}}, &out), kSuccess);
  EXPECT_EQ(Parse({{half}, {half}, {{"k"}}}, &out), kErrOutOfResource);
  InfoList many;
  for (size_t i = 0; i <= kMaxQualifiers; ++i) many.Add("k", Value::Int(1));
  EXPECT_EQ(StatusOf(many), kErrOutOfResource);
  EXPECT_EQ(ParseQueries(std::string(kMaxQueryBytes + 1, 'x'), &out),
            kErrOutOfResource);
}

TEST(QueryTest, TextsAndHostNamesAreBounded) {
  const std::string longest(kMaxQualifierText, 'h');
  EXPECT_EQ(StatusOf({{PMIX_HOSTNAME, Value::String(longest)}}), kSuccess);
  EXPECT_EQ(StatusOf({{PMIX_HOSTNAME, Value::String(longest + "h")}}),
            kErrBadParam);
  std::vector<Query> out;
  std::vector<TestQuery> queries;
  for (size_t i = 0; i <= kMaxHostnames; ++i) {
    queries.push_back(
        {{"k"}, {{PMIX_HOSTNAME, Value::String("n" + std::to_string(i))}}});
  }
  EXPECT_EQ(Parse(queries, &out), kErrOutOfResource);
  queries.pop_back();
  out.clear();
  EXPECT_EQ(Parse(queries, &out), kSuccess);
}

TEST(QueryTest, TruncatedQueriesAreRejected) {
  const Bytes whole =
      Encoded({{{"key"}, {{PMIX_NSPACE, Value::String("job")}}}, {{"other"}}});
  for (size_t size = 0; size < whole.size(); ++size) {
    std::vector<Query> out;
    EXPECT_NE(ParseQueries(whole.view().substr(0, size), &out), kSuccess);
  }
}

}  // namespace
}  // namespace canopy::core
