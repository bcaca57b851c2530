#include "server/agent/membership/spawn_request.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>

#include "common/job.h"
#include "common/posix/unique_fd.h"
#include "common/status.h"

namespace canopy::agent {
namespace {

using Kind = spawn::EnvarEdit::Kind;

control::JobRecord Parent() {
  auto job = std::make_shared<JobSpec>();
  job->nspace = "parent";
  job->session_id = 7;
  job->uid = 1000;
  job->env = {"A=1", "B=1"};
  job->cwd = "/start";
  job->allocation = {"n0", "n1"};
  job->inject = Inject::kNever;
  job->kill_grace_seconds = 9;
  job->process.umask = 027;
  job->process.limits = {{3, 65536}};
  control::JobRecord record;
  record.job = job;
  record.facts.oversubscribe = true;
  return record;
}

spawn::SpawnCall Call(size_t apps = 1) {
  spawn::SpawnCall call;
  call.apps.resize(apps);
  for (spawn::SpawnApp& app : call.apps) app.argv = {"prog"};
  return call;
}

Result<std::string> NoFile(const std::string& path) {
  return Status(kErrJobFailedToMap, path);
}

JobRequest Request(const spawn::SpawnCall& call) {
  auto request = SpawnRequestOf(call, Parent(), NoFile);
  EXPECT_TRUE(request.ok()) << request.status().message();
  return request.ok() ? *std::move(request) : JobRequest();
}

TEST(SpawnRequestTest, AttributesThatAreNotGivenComeFromTheParent) {
  const JobRequest request = Request(Call());
  EXPECT_EQ(request.cwd, "/start");
  EXPECT_EQ(request.apps[0].cwd, "");
  EXPECT_EQ(request.env, (std::vector<std::string>{"A=1", "B=1"}));
  ASSERT_EQ(request.places.hosts.size(), 2u);
  EXPECT_EQ(request.places.hosts[1].name, "n1");
  EXPECT_FALSE(request.places.hosts[1].slots_given);
  EXPECT_TRUE(request.places.oversubscribe);
  EXPECT_EQ(request.inject, Inject::kNever);
  EXPECT_EQ(request.kill_grace_seconds, 9u);
  EXPECT_EQ(request.stdin_target, StdinTarget::kNone);
  EXPECT_EQ(request.process.umask, 027u);
  EXPECT_EQ(request.process.limits, (std::vector<ResourceLimit>{{3, 65536}}));
}

TEST(SpawnRequestTest, RelativeDirectoriesAreBelowTheSessionDirectory) {
  spawn::SpawnCall call = Call(3);
  call.placing.cwd = "job";
  call.apps[1].placing.cwd = "/app";
  for (spawn::SpawnApp& app : call.apps) app.cwd = "/callers";
  call.apps[2].placing.session_cwd = true;
  const JobRequest request = Request(call);
  EXPECT_EQ(request.apps[0].cwd, "/start/job");
  EXPECT_EQ(request.apps[1].cwd, "/app");
  EXPECT_EQ(request.apps[2].cwd, "");
}

TEST(SpawnRequestTest, ThePrefixAppliesToProgramsWithoutADirectory) {
  spawn::SpawnCall call = Call(2);
  call.placing.prefix = "/opt";
  call.apps[1].argv = {"/bin/prog"};
  const JobRequest request = Request(call);
  EXPECT_EQ(request.apps[0].argv[0], "/opt/prog");
  EXPECT_EQ(request.apps[1].argv[0], "/bin/prog");
}

TEST(SpawnRequestTest, AddedHostsAreThoseOfApplicationsThatAddSome) {
  spawn::SpawnCall call = Call(2);
  call.placing.hosts = {{"known", 0, false, {}}};
  call.apps[1].placing.adds_hosts = true;
  call.apps[1].placing.hosts = {{"me@x", 2, true, {}}};
  call.apps[1].placing.hostfile = "file";
  auto second = std::make_shared<spawn::SpawnCall>(Call());
  second->placing.adds_hosts = true;
  second->placing.hosts = {{"z", 0, false, {}}};
  call.cospawned = second;
  const auto read = [](const std::string& path) -> Result<std::string> {
    EXPECT_EQ(path, "/start/file");
    return std::string("y\n");
  };
  const auto hosts = AddedHosts(call, Parent(), read);
  ASSERT_TRUE(hosts.ok());
  ASSERT_EQ(hosts->size(), 3u);
  EXPECT_EQ((*hosts)[0].name, "x");
  EXPECT_EQ((*hosts)[0].slots, 2u);
  EXPECT_EQ((*hosts)[1].name, "y");
  EXPECT_EQ((*hosts)[2].name, "z");
  EXPECT_EQ(AddedHosts(call, Parent(), NoFile).code(), kErrJobFailedToMap);
}

TEST(SpawnRequestTest, HostsThatAnApplicationAddsExtendTheAllocation) {
  spawn::SpawnCall call = Call();
  call.apps[0].placing.hosts = {{"new", 2, true, {}}};
  EXPECT_EQ(Request(call).places.hosts.size(), 2u);
  call.apps[0].placing.adds_hosts = true;
  const JobRequest request = Request(call);
  ASSERT_EQ(request.places.hosts.size(), 3u);
  EXPECT_EQ(request.places.hosts[2].name, "new");
  EXPECT_FALSE(request.places.hosts[2].slots_given);
}

TEST(SpawnRequestTest, HostsComeFromTheListAndTheFile) {
  spawn::SpawnCall call = Call();
  call.placing.hosts = {{"x", 0, false, {}}};
  call.apps[0].placing.hostfile = "file";
  const auto read = [](const std::string& path) -> Result<std::string> {
    EXPECT_EQ(path, "/start/file");
    return std::string("ann@y slots=4\n");
  };
  const auto request = SpawnRequestOf(call, Parent(), read);
  ASSERT_TRUE(request.ok());
  ASSERT_EQ(request->places.hosts.size(), 1u);
  EXPECT_EQ(request->places.hosts[0].name, "x");
  ASSERT_EQ(request->apps[0].hosts.size(), 1u);
  EXPECT_EQ(request->apps[0].hosts[0].name, "y");
  EXPECT_EQ(request->apps[0].hosts[0].slots, 4u);
  EXPECT_EQ(SpawnRequestOf(call, Parent(), NoFile).code(), kErrJobFailedToMap);
}

TEST(SpawnRequestTest, VariablesOfOneApplicationDoNotAffectOthers) {
  spawn::SpawnCall call = Call(2);
  call.placing.edits = {{Kind::kSet, "A", "2"}};
  call.apps[0].placing.edits = {{Kind::kUnset, "B", ""}};
  call.apps[1].env = {"C=3"};
  const JobRequest request = Request(call);
  EXPECT_EQ(request.env, (std::vector<std::string>{"A=2"}));
  EXPECT_TRUE(request.apps[0].env.empty());
  EXPECT_EQ(request.apps[1].env, (std::vector<std::string>{"B=1", "C=3"}));
}

// The edits of the job, and then those of the application, change the
// application's pmix_app_t::env.
TEST(SpawnRequestTest, JobEditsApplyToTheEnvironmentOfEachApplication) {
  spawn::SpawnCall call = Call(3);
  call.placing.edits = {{Kind::kAppend, "A", "job"},
                        {Kind::kUnset, "C*", ""},
                        {Kind::kAdd, "D", "job"}};
  call.apps[0].env = {"A=own", "C=gone", "CC=gone", "E=5"};
  call.apps[0].placing.edits = {{Kind::kPrepend, "A", "app"}};
  call.apps[1].env = {"D=own"};
  const JobRequest request = Request(call);
  EXPECT_EQ(request.env, (std::vector<std::string>{"A=1:job", "B=1", "D=job"}));
  EXPECT_EQ(request.apps[0].env,
            (std::vector<std::string>{"A=app:own:job", "E=5"}));
  EXPECT_EQ(request.apps[1].env, (std::vector<std::string>{"D=own"}));
  EXPECT_TRUE(request.apps[2].env.empty());
}

TEST(SpawnRequestTest, StreamsAreMergedPerApplication) {
  spawn::SpawnCall call = Call(2);
  EXPECT_FALSE(Request(call).merge_stderr);
  call.placing.output.merge_stderr = true;
  EXPECT_TRUE(Request(call).merge_stderr);
  EXPECT_FALSE(Request(call).apps[0].merge_stderr);
  call.apps[1].placing.output.merge_stderr = false;
  EXPECT_FALSE(Request(call).merge_stderr);
  EXPECT_TRUE(Request(call).apps[0].merge_stderr);
  EXPECT_FALSE(Request(call).apps[1].merge_stderr);
}

TEST(SpawnRequestTest, TheRequestKeepsTheAttributesOfTheCall) {
  spawn::SpawnCall call = Call();
  call.request.recoverable = call.request.process.index_argv = true;
  call.request.places.cpu_list = "0-3";
  call.request.places.map_by = "core";
  call.request.places.tool = true;
  call.request.max_restarts = 3;
  const JobRequest request = Request(call);
  EXPECT_TRUE(request.recoverable);
  EXPECT_TRUE(request.process.index_argv);
  EXPECT_EQ(request.places.cpu_list, "0-3");
  EXPECT_EQ(request.places.map_by, "core");
  EXPECT_TRUE(request.places.tool);
  EXPECT_EQ(request.max_restarts, 3u);
}

Result<std::string> ReadOwn(const std::string& path) {
  return ReadHostfile(path, geteuid(), getegid());
}

TEST(SpawnRequestTest, AHostfileMustBeARegularFile) {
  EXPECT_EQ(ReadOwn("/nonexistent").code(), kErrJobFailedToMap);
  EXPECT_EQ(ReadOwn("/dev/zero").code(), kErrJobFailedToMap);
  EXPECT_EQ(ReadOwn("/tmp").code(), kErrJobFailedToMap);
  EXPECT_TRUE(ReadOwn("/proc/version").ok() || ReadOwn("/etc/hostname").ok());
  const std::string fifo = testing::TempDir() + "/spawn_request_test.fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(ReadOwn(fifo).code(), kErrJobFailedToMap);
  unlink(fifo.c_str());
}

// The spawner can see the content of a file in error messages about a malformed
// hostfile, so the file is read with the job user's permissions.
TEST(SpawnRequestTest, AHostfileIsReadWithThePermissionsOfTheJobsUser) {
  std::string path = "/tmp/spawn_request_test.XXXXXX";
  const UniqueFd fd(mkstemp(path.data()));
  ASSERT_EQ(write(fd.get(), "a\n", 2), 2);
  EXPECT_EQ(*ReadOwn(path), "a\n");
  const Result<std::string> others =
      ReadHostfile(path, geteuid() + 12345, getegid() + 12345);
  EXPECT_EQ(others.code(), kErrJobFailedToMap);
  EXPECT_NE(others.status().message().find(path), std::string::npos);
  if (geteuid() == 0) {
    ASSERT_EQ(fchmod(fd.get(), 0644), 0);
    EXPECT_EQ(*ReadHostfile(path, 12345, 12345), "a\n");
  }
  unlink(path.c_str());
}

}  // namespace
}  // namespace canopy::agent
