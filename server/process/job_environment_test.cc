#include "server/process/job_environment.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

namespace canopy::process {
namespace {

using Strings = std::vector<std::string>;

JobSpec TwoApps() {
  JobSpec job;
  job.env = {"A=job", "PMIX_RANK=outer", "PMIXER=kept", "PATH=/bin"};
  job.apps.resize(2);
  job.apps[1].env = {"A=app", "PMIX_SIZE=outer"};
  return job;
}

TEST(JobEnvironment, CanopysVariablesReplaceThoseOfTheJob) {
  JobSpec job = TwoApps();
  const JobEnvironment env = BuildJobEnvironment(job, {"A=canopy"}, {});
  EXPECT_EQ(env.base, (Strings{"PMIX_RANK=outer", "PMIXER=kept", "PATH=/bin",
                               "A=canopy"}));
  EXPECT_EQ(env.apps, (std::vector<Strings>{{}, {"PMIX_SIZE=outer"}}));
}

TEST(JobEnvironment, UnsetNamesAndPrefixesAreRemoved) {
  const JobEnvironment env = BuildJobEnvironment(
      TwoApps(), {"PMIX_NAMESPACE=x"}, {{"PMIX_*", "PAT"}, ""});
  EXPECT_EQ(env.base,
            (Strings{"A=job", "PMIXER=kept", "PATH=/bin", "PMIX_NAMESPACE=x"}));
  EXPECT_EQ(env.apps, (std::vector<Strings>{{}, {"A=app"}}));
}

TEST(JobEnvironment, TheLibraryDirectoryPrecedesTheExistingPath) {
  JobSpec job = TwoApps();
  job.env.push_back("LD_LIBRARY_PATH=/job");
  job.apps[1].env = {"LD_LIBRARY_PATH=/app"};
  JobEnvironment env = BuildJobEnvironment(job, {}, {{}, "/canopy"});
  EXPECT_EQ(env.apps[0], Strings{"LD_LIBRARY_PATH=/canopy:/job"});
  EXPECT_EQ(env.apps[1].back(), "LD_LIBRARY_PATH=/canopy:/app");
  job.env.pop_back();
  env = BuildJobEnvironment(job, {}, {{}, "/canopy"});
  EXPECT_EQ(env.apps[0], Strings{"LD_LIBRARY_PATH=/canopy"});
}

TEST(JobEnvironment, TheInjectionModeSetsTheLibraryPathAndThePreload) {
  JobSpec job = TwoApps();
  job.inject = Inject::kNever;
  JobEnvironment env = BuildJobEnvironment(job, {}, {{}, "/canopy"});
  EXPECT_TRUE(env.apps[0].empty());
  job.env.push_back("LD_LIBRARY_PATH=/a:/canopy:/b");
  env = BuildJobEnvironment(job, {}, {{}, "/canopy"});
  EXPECT_EQ(env.apps[0], Strings{"LD_LIBRARY_PATH=/a:/b"});
  job.inject = Inject::kAlways;
  job.env.push_back("LD_PRELOAD=/x.so");
  env = BuildJobEnvironment(job, {}, {{}, "/canopy"});
  EXPECT_EQ(env.apps[0], (Strings{"LD_LIBRARY_PATH=/canopy:/a:/canopy:/b",
                                  "LD_PRELOAD=/canopy/libpmix.so.2:/x.so"}));
}

TEST(JobEnvironment, VariablesForTheOwnLibraryOmitOurDirectory) {
  JobSpec job = TwoApps();
  job.env = {"LD_LIBRARY_PATH=/canopy:/job", "LD_PRELOAD=/x.so"};
  job.apps[1].env = {"LD_LIBRARY_PATH=/app"};
  JobEnvironment env = BuildJobEnvironment(job, {}, {{}, "/canopy"});
  EXPECT_EQ(env.library, "/canopy/libpmix.so.2");
  ASSERT_EQ(env.own_library.size(), 2u);
  EXPECT_EQ(env.own_library[0], Strings{"LD_LIBRARY_PATH=/job"});
  EXPECT_EQ(env.own_library[1], Strings{"LD_LIBRARY_PATH=/app"});
  job.inject = Inject::kAlways;
  env = BuildJobEnvironment(job, {}, {{}, "/canopy"});
  EXPECT_EQ(env.own_library[1],
            (Strings{"LD_LIBRARY_PATH=/app", "LD_PRELOAD=/x.so"}));
  job.inject = Inject::kNever;
  env = BuildJobEnvironment(job, {}, {{}, "/canopy"});
  EXPECT_EQ(env.library, "");
}

TEST(JobEnvironment, OurDirectoryIsRemovedFromThePathUnderAnyName) {
  char place[] = "/tmp/environment-test-XXXXXX";
  ASSERT_NE(mkdtemp(place), nullptr);
  const std::string link = std::string(place) + "/link";
  ASSERT_EQ(symlink("/usr/bin", link.c_str()), 0);
  JobSpec job;
  job.inject = Inject::kNever;
  job.env = {"LD_LIBRARY_PATH=/none:" + link + ":/usr/bin/:/usr"};
  job.apps.resize(1);
  const JobEnvironment env = BuildJobEnvironment(job, {}, {{}, "/usr/bin"});
  EXPECT_EQ(env.apps[0], (Strings{"LD_LIBRARY_PATH=/none:/usr"}));
  unlink(link.c_str());
  rmdir(place);
}

TEST(JobEnvironment, PwdContainsTheApplicationsDirectory) {
  JobSpec job = TwoApps();
  job.cwd = "/job";
  job.apps[1].cwd = "/app";
  const JobEnvironment env = BuildJobEnvironment(job, {}, {});
  EXPECT_EQ(env.apps[0], Strings{"PWD=/job"});
  EXPECT_EQ(env.apps[1][0], "PWD=/app");
}

}  // namespace
}  // namespace canopy::process
