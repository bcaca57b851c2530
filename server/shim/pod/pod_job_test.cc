#include "server/shim/pod/pod_job.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace canopy::process {
namespace {

class PodJobTest : public testing::Test {
 protected:
  PodJobTest() {
    container_.program = "./solver";
    container_.argv = {"solver", "--steps=7"};
    container_.env = {"PATH=/bin", "PMIX_RANK=9"};
    container_.run_directory = "/run/canopy";
    container_.files_directory = testing::TempDir() + "/no-files";
    job_.nspace = "canopy-1-1";
    job_.uid = 0x80000007;
    job_.user = "kubernetes/physics";
    job_.env = {"CANOPY_SOCKET=/agent/clients.sock", "PMIX_RANK=3"};
    job_.apps.resize(1);
    job_.apps[0].program = "something-else";
  }

  // Returns the value that a process would see.
  static std::string Value(const std::vector<std::string>& env,
                           const std::string& name) {
    std::string value = "(unset)";
    for (const std::string& entry : env) {
      if (entry.starts_with(name + "=")) value = entry.substr(name.size() + 1);
    }
    return value;
  }

  PodContainer container_;
  PrepareJob job_;
};

TEST_F(PodJobTest, TheContainersOwnProgramIsExecutedAsItsOwnUser) {
  AdaptToContainer(container_, &job_);
  ASSERT_EQ(job_.apps.size(), 1u);
  EXPECT_EQ(job_.apps[0].program, "./solver");
  EXPECT_EQ(job_.apps[0].argv, container_.argv);
  EXPECT_EQ(job_.uid, geteuid());
  EXPECT_EQ(job_.user, "");
}

TEST_F(PodJobTest, TheAgentsVariablesOverrideTheContainers) {
  AdaptToContainer(container_, &job_);
  EXPECT_EQ(Value(job_.env, "PATH"), "/bin");
  EXPECT_EQ(Value(job_.env, "PMIX_RANK"), "3");
}

TEST_F(PodJobTest, PathsAreThoseOfTheContainer) {
  AdaptToContainer(container_, &job_);
  EXPECT_EQ(Value(job_.env, "CANOPY_SOCKET"), "/run/canopy/pmix.sock");
  EXPECT_EQ(Value(job_.env, "PMIX_SERVER_TMPDIR"), "/tmp");
}

TEST_F(PodJobTest, TheLibraryComesFirstIfTheContainerHasIt) {
  container_.env.push_back("LD_LIBRARY_PATH=/own/lib");
  AdaptToContainer(container_, &job_);
  EXPECT_EQ(job_.library, "");
  container_.files_directory = testing::TempDir() + "/files";
  std::filesystem::create_directories(container_.files_directory + "/lib");
  std::ofstream(container_.files_directory + "/lib/libpmix.so.2") << "x";
  AdaptToContainer(container_, &job_);
  EXPECT_EQ(job_.library, container_.files_directory + "/lib/libpmix.so.2");
  EXPECT_EQ(Value(job_.apps[0].env, "LD_LIBRARY_PATH"),
            container_.files_directory + "/lib:/own/lib");
  EXPECT_EQ(Value(job_.apps[0].own_library_env, "LD_LIBRARY_PATH"), "/own/lib");
}

TEST_F(PodJobTest, RanksDoNotGetTheEntryLibrary) {
  container_.env.push_back("LD_PRELOAD=/opt/canopy/lib/canopy-entry.so");
  AdaptToContainer(container_, &job_);
  EXPECT_EQ(Value(job_.env, "LD_PRELOAD"), "(unset)");
}

TEST_F(PodJobTest, RanksGetTheOtherPreloadedLibraries) {
  container_.env.push_back(
      "LD_PRELOAD=/opt/canopy/lib/canopy-entry.so:/lib/a.so /lib/b.so");
  AdaptToContainer(container_, &job_);
  EXPECT_EQ(Value(job_.env, "LD_PRELOAD"), "/lib/a.so:/lib/b.so");
}

}  // namespace
}  // namespace canopy::process
