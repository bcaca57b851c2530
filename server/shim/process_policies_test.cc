#include "server/shim/process_policies.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

namespace canopy::process {
namespace {

// Applies the policies in a child process. Returns true if `check` holds there.
bool InChild(const ProcessPolicies& policies,
             const std::function<bool()>& check) {
  const pid_t pid = fork();
  if (pid == 0) _exit(ApplyPolicies(policies) && check() ? 0 : 1);
  int status = 0;
  waitpid(pid, &status, 0);
  return status == 0;
}

TEST(ProcessPoliciesTest, UnsetPoliciesDoNotChangeTheProcess) {
  const mode_t mask = umask(0);
  umask(mask);
  EXPECT_TRUE(InChild({}, [mask] { return umask(0) == mask; }));
}

TEST(ProcessPoliciesTest, UmaskNiceValueAndLimitsAreApplied) {
  ProcessPolicies policies;
  policies.umask = 0137;
  policies.nice = NiceValue{19};
  policies.limits = {{RLIMIT_CORE, 0}};
  EXPECT_TRUE(InChild(policies, [] {
    rlimit core = {1, 1};
    getrlimit(RLIMIT_CORE, &core);
    return umask(0) == 0137 && getpriority(PRIO_PROCESS, 0) == 19 &&
           core.rlim_cur == 0;
  }));
}

TEST(ProcessPoliciesTest, SoftLimitsAreLoweredToTheHardLimits) {
  const rlimit few = {100, 100};
  ProcessPolicies policies;
  policies.limits = {{RLIMIT_NOFILE, RLIM_INFINITY}};
  const pid_t pid = fork();
  if (pid == 0) {
    rlimit now = {};
    const bool right = setrlimit(RLIMIT_NOFILE, &few) == 0 &&
                       ApplyPolicies(policies) &&
                       getrlimit(RLIMIT_NOFILE, &now) == 0 &&
                       now.rlim_cur == 100 && now.rlim_max == 100;
    _exit(right ? 0 : 1);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(ProcessPoliciesTest, ARefusedNiceValueIsReported) {
  ProcessPolicies policies;
  policies.nice = NiceValue{-5};
  const std::string text = PolicyFailure(policies, EACCES);
  EXPECT_NE(text.find("nice value -5 is lower"), std::string::npos) << text;
  policies.nice.reset();
  EXPECT_EQ(PolicyFailure(policies, EINVAL).find("nice"), std::string::npos);
}

}  // namespace
}  // namespace canopy::process
