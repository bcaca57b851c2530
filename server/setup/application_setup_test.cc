#include "server/setup/application_setup.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "common/support/ignored_directives.h"
#include "common/values/value.h"
#include "pmix_common.h"

namespace canopy::setup {
namespace {

constexpr const char* kEnvironment[] = {"HOME=/root",
                                        "OMPI_MCA_btl=self",
                                        "UCX_TLS=tcp",
                                        "OMPI_COMM_WORLD_RANK=3",
                                        "OMPI_MCA_orte_hnp_uri=x",
                                        "OMP_NUM_THREADS=2",
                                        "SHMEM_SYMMETRIC_SIZE=1G",
                                        "PMIX_RANK=3",
                                        "PMIX_MCA_ptl=a=b",
                                        "OMPI_NOTHING",
                                        nullptr};

// Returns the variables, for example "UCX_TLS=tcp ...", or the status.
std::string Collected(const InfoList& directives) {
  const auto infos = SetUpApplication(directives.span(), kEnvironment);
  if (!infos.ok()) return std::to_string(infos.code());
  std::string text;
  for (const pmix_info_t& info : *infos) {
    EXPECT_EQ(KeyOf(info), PMIX_SET_ENVAR);
    EXPECT_EQ(info.value.type, PMIX_ENVAR);
    const pmix_envar_t& envar = info.value.data.envar;
    text += (text.empty() ? "" : " ") + std::string(envar.envar) + "=" +
            envar.value;
  }
  return text;
}

KeyValue Flag(const char* key, bool flag = true) {
  return {key, Value::Bool(flag)};
}

TEST(ApplicationSetupTest, VariablesOfModelsAreCollectedAndThoseOfAJobOmitted) {
  const std::string all =
      "OMPI_MCA_btl=self UCX_TLS=tcp OMP_NUM_THREADS=2 "
      "SHMEM_SYMMETRIC_SIZE=1G PMIX_MCA_ptl=a=b";
  EXPECT_EQ(Collected({Flag(PMIX_SETUP_APP_ENVARS)}), all);
  EXPECT_EQ(Collected({Flag(PMIX_SETUP_APP_ALL)}), all);
}

TEST(ApplicationSetupTest, CollectsNothingWithoutARequest) {
  EXPECT_EQ(Collected({}), "");
  EXPECT_EQ(Collected({Flag(PMIX_SETUP_APP_ENVARS, false)}), "");
  EXPECT_EQ(Collected({Flag(PMIX_SETUP_APP_NONENVARS)}), "");
  EXPECT_EQ(Collected({Flag(PMIX_SETUP_APP_ALL), Flag(PMIX_ENVARS_HARVESTED)}),
            "");
  EXPECT_TRUE(SetUpApplication({}, nullptr)->empty());
}

TEST(ApplicationSetupTest, EachModelHasItsOwnVariables) {
  const auto of = [](const char* model) {
    return Collected({Flag(PMIX_SETUP_APP_ENVARS),
                      {PMIX_PROGRAMMING_MODEL, Value::String(model)},
                      {PMIX_MODEL_LIBRARY_NAME, Value::String("any")},
                      {PMIX_NODE_MAP, Value::String("a")}});
  };
  EXPECT_EQ(of("MPI"), "OMPI_MCA_btl=self UCX_TLS=tcp PMIX_MCA_ptl=a=b");
  EXPECT_EQ(of("OpenMP"), "UCX_TLS=tcp OMP_NUM_THREADS=2 PMIX_MCA_ptl=a=b");
  EXPECT_EQ(of("other"), Collected({Flag(PMIX_SETUP_APP_ENVARS)}));
}

TEST(ApplicationSetupTest, ReportsDirectivesWithoutEffect) {
  std::string reported;
  auto& ignored = support::IgnoredDirectives::OfProcess();
  ignored.SetReport([&](std::string_view function, std::string_view key) {
    reported += std::string(function) + " " + std::string(key);
  });
  EXPECT_EQ(Collected({Flag("site.directive")}), "");
  ignored.End();
  EXPECT_EQ(reported, "PMIx_server_setup_application site.directive");
}

TEST(ApplicationSetupTest, UnsupportedDirectivesAreRefused) {
  const std::string not_supported = std::to_string(kErrNotSupported);
  EXPECT_EQ(Collected({{PMIX_ALLOC_FABRIC, Value::InfoArray({})}}),
            not_supported);
  EXPECT_EQ(Collected({{PMIX_ALLOC_FABRIC_SEC_KEY, Value::Bool(true)}}),
            not_supported);
  EXPECT_EQ(Collected({{PMIX_SETUP_APP_ENVARS, Value::Int(7)}}),
            std::to_string(kErrTypeMismatch));
  InfoList required;
  required.Add("site.directive", Value::Bool(true));
  EXPECT_EQ(Collected(required), "");
  required.Add("site.directive", Value::Bool(true), PMIX_INFO_REQD);
  EXPECT_EQ(Collected(required), not_supported);
}

}  // namespace
}  // namespace canopy::setup
