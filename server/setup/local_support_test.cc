#include "server/setup/local_support.h"

#include <gtest/gtest.h>

#include "common/values/info_list.h"
#include "common/values/value.h"
#include "common/values/value_ops.h"
#include "pmix_common.h"
#include "server/setup/application_setup.h"

namespace canopy::setup {
namespace {

Value Envar(std::string name, std::string text) {
  pmix_envar_t envar = {name.data(), text.data(), ','};
  Value value;
  EXPECT_EQ(LoadValue(value.mutable_raw(), &envar, PMIX_ENVAR), kSuccess);
  return value;
}

TEST(LocalSupportTest, CollectedVariablesAreAppliedToTheJobsEnvironment) {
  const char* environment[] = {"UCX_TLS=tcp", nullptr};
  const InfoList asked{{PMIX_SETUP_APP_ALL, Value::Bool(true)}};
  const auto collected = SetUpApplication(asked.span(), environment);
  ASSERT_TRUE(collected.ok());
  LocalSupport support;
  ASSERT_TRUE(support.Add("job", collected->span()).ok());
  spawn::Environment env = {"A=1"};
  support.Apply("other", &env);
  EXPECT_EQ(env.size(), 1u);
  support.Apply("job", &env);
  EXPECT_EQ(env, (spawn::Environment{"A=1", "UCX_TLS=tcp"}));
  support.Remove("job");
  spawn::Environment none;
  support.Apply("job", &none);
  EXPECT_TRUE(none.empty());
}

TEST(LocalSupportTest, ChangesOfTheEnvironmentAreAppliedInOrder) {
  LocalSupport support;
  const InfoList first{{PMIX_SET_ENVAR, Envar("A", "1")}};
  const InfoList then{{PMIX_APPEND_ENVAR, Envar("A", "2")},
                      {PMIX_UNSET_ENVAR, Value::String("B")},
                      {"site.key", Value::Int(1)}};
  ASSERT_TRUE(support.Add("job", first.span()).ok());
  ASSERT_TRUE(support.Add("job", then.span()).ok());
  spawn::Environment env = {"B=1"};
  support.Apply("job", &env);
  EXPECT_EQ(env, (spawn::Environment{"A=1,2"}));
}

TEST(LocalSupportTest, ARefusedCallAddsNothing) {
  LocalSupport support;
  InfoList infos{{PMIX_SET_ENVAR, Envar("A", "1")},
                 {PMIX_SET_ENVAR, Value::Int(1)}};
  EXPECT_EQ(support.Add("job", infos.span()).code(), kErrTypeMismatch);
  infos = {{PMIX_SET_ENVAR, Envar("A", "1")}};
  infos.Add("site.key", Value::Int(1), PMIX_INFO_REQD);
  EXPECT_EQ(support.Add("job", infos.span()).code(), kErrNotSupported);
  spawn::Environment env;
  support.Apply("job", &env);
  EXPECT_TRUE(env.empty());
}

}  // namespace
}  // namespace canopy::setup
