#include "client/session/get_options.h"

#include <gtest/gtest.h>

#include "common/values/info_list.h"
#include "common/values/value.h"

namespace canopy::client {
namespace {

struct Parsed {
  int status;
  GetOptions options;
};

Parsed Parse(const InfoList& infos) {
  Parsed parsed;
  parsed.status = ParseGetOptions(infos.data(), infos.size(), &parsed.options);
  return parsed;
}

TEST(GetOptions, NoDirectivesGiveTheDefaults) {
  const Parsed parsed = Parse({});
  EXPECT_EQ(parsed.status, PMIX_SUCCESS);
  EXPECT_FALSE(parsed.options.optional);
  EXPECT_EQ(parsed.options.realm, Realm::kUnknown);
  EXPECT_EQ(parsed.options.timeout_ms, 0u);
}

TEST(GetOptions, EveryDirectiveIsRead) {
  InfoList infos;
  infos.Add(PMIX_OPTIONAL, Value());
  infos.Add(PMIX_IMMEDIATE, Value::String("true"));
  infos.Add(PMIX_GET_REFRESH_CACHE, Value::Bool(true));
  infos.Add(PMIX_GET_POINTER_VALUES, Value::Bool(false));
  infos.Add(PMIX_DATA_SCOPE, Value::Integer(PMIX_SCOPE, PMIX_REMOTE));
  infos.Add(PMIX_NODE_INFO, Value::Bool(true));
  infos.Add(PMIX_HOSTNAME, Value::String("n1"));
  infos.Add(PMIX_NODEID, Value::Uint32(4));
  infos.Add(PMIX_APPNUM, Value::Int(2));
  infos.Add(PMIX_SESSION_ID, Value::Uint64(9));
  infos.Add(PMIX_TIMEOUT, Value::Int(5));
  infos.Add(PMIX_WAIT, Value::Int(1), PMIX_INFO_REQD);
  const Parsed parsed = Parse(infos);
  ASSERT_EQ(parsed.status, PMIX_SUCCESS);
  EXPECT_TRUE(parsed.options.optional);
  EXPECT_TRUE(parsed.options.immediate);
  EXPECT_TRUE(parsed.options.refresh);
  EXPECT_FALSE(parsed.options.pointer_values);
  EXPECT_EQ(parsed.options.scope, PMIX_REMOTE);
  EXPECT_EQ(parsed.options.realm, Realm::kNode);
  EXPECT_EQ(parsed.options.hostname, "n1");
  EXPECT_EQ(parsed.options.nodeid, 4u);
  EXPECT_EQ(parsed.options.appnum, 2u);
  EXPECT_EQ(parsed.options.session_id, 9u);
  EXPECT_EQ(parsed.options.timeout_ms, 5000u);
}

TEST(GetOptions, QualifiersNarrowTheSearchUnlessTheyAreDirectives) {
  InfoList infos;
  infos.Add(PMIX_OPTIONAL, Value::Bool(true), PMIX_INFO_QUALIFIER);
  const Parsed directive = Parse(infos);
  EXPECT_EQ(directive.status, PMIX_SUCCESS);
  EXPECT_TRUE(directive.options.qualified);
  EXPECT_FALSE(directive.options.narrowed);
  // A qualifier is never ignored, so it may be required.
  infos.Add("site.color", Value::Int(1), PMIX_INFO_QUALIFIER | PMIX_INFO_REQD);
  const Parsed narrow = Parse(infos);
  EXPECT_EQ(narrow.status, PMIX_SUCCESS);
  EXPECT_TRUE(narrow.options.qualified);
  EXPECT_TRUE(narrow.options.narrowed);
}

TEST(GetOptions, ATimeoutThatIsTooLongMeansNoLimit) {
  InfoList infos;
  infos.Add(PMIX_TIMEOUT, Value::Uint64(uint64_t{1} << 40));
  const Parsed parsed = Parse(infos);
  EXPECT_EQ(parsed.status, PMIX_SUCCESS);
  EXPECT_EQ(parsed.options.timeout_ms, 0u);
}

TEST(GetOptions, InvalidValuesAreRejected) {
  const auto status = [](const char* key, Value value) {
    InfoList infos;
    infos.Add(key, std::move(value));
    return Parse(infos).status;
  };
  EXPECT_EQ(status(PMIX_APPNUM, Value::Int(-1)), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(status(PMIX_NODEID, Value::String("x")), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(status(PMIX_HOSTNAME, Value::Int(1)), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(status(PMIX_HOSTNAME, Value::String("")), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(status(PMIX_DATA_SCOPE, Value::Int(9)), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(status(PMIX_TIMEOUT, Value::String("soon")), PMIX_ERR_BAD_PARAM);
}

TEST(GetOptions, StaticAndPointerValuesExcludeEachOther) {
  InfoList infos;
  infos.Add(PMIX_GET_STATIC_VALUES, Value::Bool(true));
  infos.Add(PMIX_GET_POINTER_VALUES, Value::Bool(true));
  EXPECT_EQ(Parse(infos).status, PMIX_ERR_BAD_PARAM);
}

}  // namespace
}  // namespace canopy::client
