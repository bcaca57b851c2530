#include "server/control/preload.h"

#include <gtest/gtest.h>

namespace canopy::control {
namespace {

JobSpec Job() {
  JobSpec job;
  job.nspace = "job";
  job.cwd = "/home/me";
  job.env = {"PATH=/opt/bin"};
  job.apps.resize(2);
  job.apps[0].cmd = "./a";
  job.apps[1].cmd = "b";
  job.apps[1].cwd = "/srv";
  job.apps[1].env = {"PATH=/own/bin"};
  job.nodes = {{"n0", {}, 4, 1}, {"n1", {}, 9, 1}};
  job.procs = {{0, 0, ""}, {1, 1, ""}};
  return job;
}

spawn::SpawnCall Call() {
  spawn::SpawnCall call;
  call.apps.resize(2);
  return call;
}

TEST(PreloadTest, NothingIsCopiedByDefault) {
  const auto preload = PreloadOf(Call(), Job(), Job(), 1);
  ASSERT_TRUE(preload.ok());
  EXPECT_FALSE(preload->wanted);
}

TEST(PreloadTest, FilesAreReadOnTheSpawnersNode) {
  spawn::SpawnCall call = Call();
  call.placing.preload_files = "x";
  call.apps[1].placing.preload_files = "y,/etc/z";
  call.apps[1].placing.preload_program = true;
  const auto preload = PreloadOf(call, Job(), Job(), 1);
  ASSERT_TRUE(preload.ok());
  EXPECT_TRUE(preload->wanted);
  EXPECT_EQ(preload->source.node->agent, 9u);
  EXPECT_EQ(preload->programs, std::vector<uint32_t>{1});
  const std::vector<preload::Item> items = {
      {"files/x", "/home/me/x"},
      {"files/y", "/srv/y"},
      {"files/z", "/etc/z"},
      {"programs/1/b", "b", "/own/bin", "/srv"}};
  EXPECT_EQ(preload->source.items, items);
  const JobSpec copies = WithCopies(Job(), *preload);
  EXPECT_EQ(copies.apps[0].cmd, "./a");
  EXPECT_EQ(copies.apps[1].cmd, preload::CopiedProgram(1, "b"));
}

TEST(PreloadTest, ADirectiveOfTheJobAppliesToEachApplication) {
  spawn::SpawnCall call = Call();
  call.placing.preload_program = true;
  const auto preload = PreloadOf(call, Job(), Job(), 0);
  ASSERT_TRUE(preload.ok());
  EXPECT_EQ(preload->programs, (std::vector<uint32_t>{0, 1}));
}

TEST(PreloadTest, TwoFilesOfOneNameAreRejected) {
  spawn::SpawnCall call = Call();
  call.apps[0].placing.preload_files = "x";
  call.apps[1].placing.preload_files = "x";
  EXPECT_EQ(PreloadOf(call, Job(), Job(), 0).code(), kErrBadParam);
}

TEST(PreloadTest, ALauncherNamesTheProgramsThatItSends) {
  JobRequest request;
  request.apps.resize(2);
  request.apps[1].preload_program = true;
  EXPECT_EQ(PreloadOf(request).programs, std::vector<uint32_t>{1});
  EXPECT_FALSE(PreloadOf(request).source.node.has_value());
}

}  // namespace
}  // namespace canopy::control
