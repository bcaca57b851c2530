// Tests the environment of a process at its start, and failures to start.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "common/loader/elf_builder.h"
#include "common/preload/preload_list.h"
#include "server/process/process_test_base.h"

namespace canopy::process {
namespace {

class StartTest : public ProcessTest {
 protected:
  // Prepares a job that must be rejected, and returns the answer.
  core::LocalPrepared Refusal(const std::shared_ptr<const JobSpec>& job) {
    adapter_->Prepare(Local(job));
    EXPECT_TRUE(RunUntil([&] { return !Recorded().prepared.empty(); }));
    return Recorded().prepared.at(0);
  }

  std::vector<std::string> Lines(Rank rank = 0) {
    std::vector<std::string> lines;
    std::istringstream in(Output(rank));
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    std::sort(lines.begin(), lines.end());
    return lines;
  }

  // Returns the value of a field of /proc/self/status from the output of `cat`.
  std::string StatusField(const std::string& name) {
    for (const std::string& line : Lines()) {
      if (line.starts_with(name + ":")) return line.substr(name.size() + 2);
    }
    return "absent";
  }
};

TEST_F(StartTest, ProcessesGetTheirArgumentsUnchanged) {
  const std::vector<std::string> odd = {
      "",     "a b", "\"'$(x)\\", "\n\t\x01",
      "\xff", "-n",  "*",         std::string(100000, 'x')};
  std::vector<std::string> argv = {ProbePath(), "argv"};
  argv.insert(argv.end(), odd.begin(), odd.end());
  ASSERT_TRUE(Run(MakeJob(argv)));
  std::string expected;
  for (const std::string& arg : odd) expected += arg + '\0';
  EXPECT_EQ(Output(), expected);
}

TEST_F(StartTest, ACopiedProgramIsInTheJobsDirectory) {
  const std::string directory = runtime_dir_ + "/directory";
  std::filesystem::create_directories(directory + "/programs/0");
  std::filesystem::copy_file("/bin/sh", directory + "/programs/0/copy");
  job_directory_ = [directory](const std::string& nspace) {
    return nspace == "job" ? directory : "";
  };
  MakeAdapter();
  auto job = MakeJob({"copy", "-c",
                      "readlink /proc/$$/exe; "
                      "echo $CANOPY_JOB_DIR"});
  job->apps[0].cmd = preload::CopiedProgram(0, "copy");
  ASSERT_TRUE(Run(job));
  const std::string real = std::filesystem::canonical(directory);
  EXPECT_EQ(Output(), real + "/programs/0/copy\n" + directory + "\n");
  std::filesystem::remove_all(directory);
}

TEST_F(StartTest, RanksWithARendezvousGetItsAddressAndPort) {
  auto job = MakeJob({"sh", "-c", "echo $MASTER_ADDR:$MASTER_PORT $RANK"}, 2);
  job->rendezvous_host = "10.0.0.1";
  ASSERT_TRUE(Run(job));
  const uint16_t port = Recorded().prepared.at(0).port;
  EXPECT_NE(port, 0);
  const std::string place = "10.0.0.1:" + std::to_string(port);
  EXPECT_EQ(Output(0), place + " 0\n");
  EXPECT_EQ(Output(1), place + " 1\n");
}

TEST_F(StartTest, AProcessGetsTheRequestedArgumentZero) {
  auto job = MakeJob({"sh", "-c", "echo $0"});
  job->apps[0].argv = {"another name", "-c", "echo $0"};
  ASSERT_TRUE(Run(job));
  EXPECT_EQ(Output(), "another name\n");
}

// No program of this machine can load the library.
TEST_F(StartTest, AProgramThatCannotUseOurLibraryGetsItsOwn) {
  const std::string directory = runtime_dir_ + "/library";
  std::filesystem::create_directory(directory);
  loader::ElfSpec library;
  library.machine = EM_S390;
  library.bits = 32;
  loader::WriteElf(directory + "/libpmix.so.2", library);
  rules_.library_dir = directory;
  MakeAdapter();
  auto job = MakeJob({"env"});
  job->env = {"PATH=/usr/bin:/bin", "LD_LIBRARY_PATH=/mine"};
  job->inject = Inject::kAlways;
  // The first round inspects the program, and the second one gets the finding
  // from the cache.
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(Run(job));
    EXPECT_EQ(Recorded().prepared.at(0).notes.size(), 0u);
    const std::vector<std::string> lines = Lines();
    EXPECT_EQ(std::ranges::count(lines, "LD_LIBRARY_PATH=/mine"), 1);
    EXPECT_EQ(std::ranges::count(lines, "LD_PRELOAD="), 1);
    ASSERT_TRUE(Forget("job"));
    sink_.jobs.clear();
  }
  core::PrepareLocal explained = Local(job);
  explained.explain = true;
  adapter_->Prepare(explained);
  ASSERT_TRUE(RunUntil([&] { return !Recorded().prepared.empty(); }));
  const auto& notes = Recorded().prepared.at(0).notes;
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].detail.find("runs with its own library"),
            std::string::npos)
      << notes[0].detail;
  ASSERT_TRUE(Forget("job"));
  std::filesystem::remove_all(directory);
}

TEST_F(StartTest, TheEnvironmentCombinesJobApplicationAgentAndRank) {
  auto job = MakeJob({"env"});
  job->env = {
      "PATH=/usr/bin:/bin", "A=job",    "B=job", "C=job", "D=job", "GONE=1",
      "GONE_TOO=1",         "ODD=x=y z"};
  job->apps[0].env = {"B=app", "C=app", "GONE=2", "EMPTY="};
  environment_.for_job = {"C=canopy", "E=canopy"};
  environment_.for_rank = [](Rank) {
    return std::vector<std::string>{"D=rank", "E=rank"};
  };
  rules_.unset = {"GONE", "GONE_*"};
  MakeAdapter();
  ASSERT_TRUE(Run(job));
  std::vector<std::string> lines = Lines();
  EXPECT_EQ(std::erase_if(lines,
                          [](const std::string& line) {
                            return line.starts_with("CANOPY_SHIM=");
                          }),
            1u);
  EXPECT_EQ(lines, (std::vector<std::string>{
                       "A=job", "B=app", "C=canopy", "D=rank", "E=rank",
                       "EMPTY=", "ODD=x=y z", "PATH=/usr/bin:/bin"}));
}

TEST_F(StartTest, TheLibraryDirectoryPrecedesTheJobsPath) {
  auto job = MakeJob({"sh", "-c", "echo $LD_LIBRARY_PATH"}, 2);
  job->env.push_back("LD_LIBRARY_PATH=/theirs");
  rules_.library_dir = "/ours";
  MakeAdapter();
  ASSERT_TRUE(Run(job));
  EXPECT_EQ(Output(0), "/ours:/theirs\n");
  EXPECT_EQ(Output(1), "/ours:/theirs\n");
}

TEST_F(StartTest, ProcessesStartInTheDirectoryThatPwdContains) {
  auto job = MakeJob({"sh", "-c", "/bin/pwd; echo $PWD"});
  job->cwd = "/usr";
  ASSERT_TRUE(Run(job));
  EXPECT_EQ(Output(), "/usr\n/usr\n");
}

TEST_F(StartTest, AProgramIsFoundRelativeToTheDirectory) {
  const std::string directory = testing::TempDir() + "/start_test_dir";
  std::filesystem::create_directories(directory + "/bin");
  std::ofstream(directory + "/bin/prog") << "echo found by $0\n";
  chmod((directory + "/bin/prog").c_str(), 0755);
  auto job = MakeJob({"bin/prog"});
  job->apps[0].cwd = directory;
  ASSERT_TRUE(Run(job));
  // A script without an interpreter line runs in the shell.
  EXPECT_EQ(Output(), "found by " + directory + "/bin/prog\n");
  std::filesystem::remove_all(directory);
}

TEST_F(StartTest, ApplicationsHaveTheirOwnProgramEnvironmentAndDirectory) {
  auto job = MakeJob({"sh", "-c", "echo first"}, 3);
  JobApp second;
  second.cmd = "/bin/sh";
  second.argv = {"sh", "-c", "echo second $X; pwd"};
  second.env = {"X=1"};
  second.cwd = "/";
  job->apps.push_back(second);
  job->procs[2].app = 1;
  ASSERT_TRUE(Run(job));
  EXPECT_EQ(Output(0), "first\n");
  EXPECT_EQ(Output(1), "first\n");
  EXPECT_EQ(Output(2), "second 1\n/\n");
}

TEST_F(StartTest, OnlyRanksOfThisNodeStart) {
  auto job = MakeJob({"true"}, 4);
  job->nodes.push_back({"there", {}, 1, 4});
  job->procs[0].node = job->procs[2].node = 1;
  ASSERT_TRUE(Launch(job));
  EXPECT_EQ(Recorded().started[0].procs, 2u);
  EXPECT_TRUE(RunUntil([&] { return Recorded().exits.size() == 2; }));
  EXPECT_TRUE(Recorded().exits.contains(1));
  EXPECT_TRUE(Recorded().exits.contains(3));
}

TEST_F(StartTest, AJobWithoutLocalRanksStartsNothing) {
  auto job = MakeJob({"true"}, 1);
  job->nodes[0].agent = 7;
  ASSERT_TRUE(Launch(job));
  EXPECT_EQ(Recorded().started[0].procs, 0u);
  EXPECT_TRUE(FilesLeft().empty());
}

TEST_F(StartTest, WithoutATargetTheStandardInputIsEmpty) {
  auto job = MakeJob({"cat"}, 2);
  job->stdin_target = StdinTarget::kNone;
  EXPECT_TRUE(Run(job));
}

TEST_F(StartTest, ProcessesInheritNoOtherDescriptors) {
  const UniqueFd leaky(open("/dev/null", O_RDONLY));
  ASSERT_TRUE(Run(MakeJob({ProbePath(), "descriptors"}, 20)));
  for (Rank rank = 0; rank < 20; ++rank) EXPECT_EQ(Output(rank), "0 1 2 ");
}

TEST_F(StartTest, AVariableNamesTheInheritedDescriptor) {
  std::map<Rank, UniqueFd> ours;
  environment_.fd_for_rank = [&](Rank rank) {
    int fds[2];
    EXPECT_EQ(pipe2(fds, O_CLOEXEC), 0);
    ours[rank].Reset(fds[0]);
    return ProcessEnvironment::InheritedFd{fds[1], "TELL_FD"};
  };
  const auto job =
      MakeJob({"sh", "-c",
               "printf told >&$TELL_FD; exec " + ProbePath() + " descriptors"},
              300);
  ASSERT_TRUE(Run(job));
  for (Rank rank = 0; rank < 300; ++rank) {
    char told[16] = {};
    EXPECT_EQ(read(ours[rank].get(), told, sizeof told), 4);
    EXPECT_STREQ(told, "told");
    EXPECT_EQ(Output(rank), "0 1 2 3 ");
  }
}

TEST_F(StartTest, ProcessesStartWithTheDefaultsOfAllSignals) {
  ASSERT_TRUE(Run(MakeJob({"cat", "/proc/self/status"})));
  EXPECT_EQ(StatusField("SigBlk"), "0000000000000000");
  EXPECT_EQ(StatusField("SigIgn"), "0000000000000000");
  EXPECT_EQ(StatusField("SigPnd"), "0000000000000000");
}

TEST_F(StartTest, EachRankLeadsItsOwnGroup) {
  const auto job = MakeJob({"sh", "-c", "cut -d' ' -f5 /proc/$$/stat"}, 3);
  ASSERT_TRUE(Run(job));
  for (Rank rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(Output(rank), std::to_string(environment_.pids[rank]) + "\n");
  }
}

TEST_F(StartTest, AProcessIsBoundToItsCpus) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  int last = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) last = cpu;
  }
  auto job = MakeJob({"cat", "/proc/self/status"});
  job->procs[0].cpuset = std::to_string(last);
  ASSERT_TRUE(Run(job));
  EXPECT_EQ(StatusField("Cpus_allowed_list"), std::to_string(last));
}

TEST_F(StartTest, ACpuThatDoesNotExistFailsOnlyItsRank) {
  auto job = MakeJob({"true"}, 2);
  job->procs[1].cpuset = "60000";
  adapter_->Prepare(Local(job));
  ASSERT_TRUE(RunUntil([&] { return !Recorded().prepared.empty(); }));
  adapter_->Start({"job"});
  ASSERT_TRUE(WaitForExits(*job));
  EXPECT_EQ(Recorded().started[0].procs, 1u);
  EXPECT_EQ(Recorded().started[0].status, kErrJobSysOpFailed);
  EXPECT_NE(Recorded().started[0].text.find("rank 1: cannot bind to CPUs"),
            std::string::npos)
      << Recorded().started[0].text;
  EXPECT_EQ(Recorded().exits[0].wait_status, 0);
  EXPECT_EQ(WEXITSTATUS(Recorded().exits[1].wait_status), 126);
}

TEST_F(StartTest, AMalformedCpuListIsRefused) {
  auto job = MakeJob({"true"});
  job->procs[0].cpuset = "3-1";
  EXPECT_EQ(Refusal(job).status, kErrBadParam);
}

TEST_F(StartTest, ProcessesInheritTheAgentsLimits) {
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit files = {std::min<rlim_t>(before.rlim_max, 777), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
  EXPECT_TRUE(Run(MakeJob({"sh", "-c", "ulimit -n"})));
  EXPECT_EQ(Output(), std::to_string(files.rlim_cur) + "\n");
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST_F(StartTest, TheLimitOfOpenFilesCanBeSet) {
  ProcessOptions options = Options();
  options.open_files = 99;
  adapter_ = std::make_unique<ProcessAdapter>(&loop_, &sink_, options);
  EXPECT_TRUE(Run(MakeJob({"sh", "-c", "ulimit -Sn; ulimit -Hn"})));
  rlimit own;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &own), 0);
  EXPECT_EQ(Output(),
            "99\n" +
                (own.rlim_max == RLIM_INFINITY ? std::string("unlimited")
                                               : std::to_string(own.rlim_max)) +
                "\n");
}

TEST_F(StartTest, AMissingProgramIsReportedBeforeTheStart) {
  const core::LocalPrepared answer = Refusal(MakeJob({"no-such-program"}));
  EXPECT_EQ(answer.status, kErrJobExeNotFound);
  EXPECT_EQ(answer.text,
            "program \"no-such-program\" not found in PATH "
            "\"/usr/bin:/bin\"; give its path, or a directory with --path");
}

TEST_F(StartTest, AFileThatIsNotExecutableIsReportedBeforeTheStart) {
  EXPECT_EQ(Refusal(MakeJob({"/etc/passwd"})).status, kErrJobAppNotExecutable);
}

TEST_F(StartTest, AMissingDirectoryIsReportedBeforeTheStart) {
  auto job = MakeJob({"true"});
  job->apps[0].cwd = "/no/such/directory";
  const core::LocalPrepared answer = Refusal(job);
  EXPECT_EQ(answer.status, kErrJobWdirNotFound);
  EXPECT_EQ(answer.text,
            "working directory \"/no/such/directory\": No such file or "
            "directory; make it on every node or name another one with --wdir");
}

TEST_F(StartTest, AProgramRemovedBeforeTheStartFailsItsRanks) {
  const std::string program = runtime_dir_ + "/program";
  std::filesystem::copy_file("/bin/true", program);
  const auto job = MakeJob({program}, 5);
  adapter_->Prepare(Local(job));
  ASSERT_TRUE(RunUntil([&] { return !Recorded().prepared.empty(); }));
  std::filesystem::remove(program);
  adapter_->Start({"job"});
  ASSERT_TRUE(WaitForExits(*job));
  EXPECT_EQ(Recorded().started[0].procs, 0u);
  EXPECT_EQ(Recorded().started[0].status, kErrJobExeNotFound);
  EXPECT_NE(Recorded().started[0].text.find("and 2 more"), std::string::npos);
  EXPECT_EQ(WEXITSTATUS(Recorded().exits[4].wait_status), 127);
  EXPECT_EQ(Recorded().closed.size(), 10u);
}

TEST_F(StartTest, AnotherUsersJobRunsAsThatUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may start for others";
  auto job = MakeJob({"cat", "/proc/self/status"});
  job->uid = 12345;
  job->gid = 23456;
  ASSERT_TRUE(Run(job));
  EXPECT_EQ(StatusField("Uid"), "12345\t12345\t12345\t12345");
  EXPECT_EQ(StatusField("Gid"), "23456\t23456\t23456\t23456");
  EXPECT_EQ(StatusField("Groups"), "23456 ");
}

TEST_F(StartTest, AUserWhomThisNodeDoesNotKnowIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may start for others";
  auto job = MakeJob({"true"});
  job->uid = 12345;
  job->user = "ann";
  const core::LocalPrepared answer = Refusal(job);
  EXPECT_EQ(answer.status, kErrNoPermissions);
  EXPECT_NE(answer.text.find("not known"), std::string::npos) << answer.text;
}

TEST_F(StartTest, AUserWhoIsAnotherOneOnThisNodeIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may start for others";
  auto job = MakeJob({"true"});
  job->uid = 1;  // "daemon" on every Debian
  job->user = "ann";
  const core::LocalPrepared answer = Refusal(job);
  EXPECT_EQ(answer.status, kErrNoPermissions);
  EXPECT_NE(answer.text.find("user 1 is 'daemon' on this node, but the job is "
                             "of 'ann'"),
            std::string::npos)
      << answer.text;
}

TEST_F(StartTest, AnotherUsersProgramIsSearchedAsThatUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may start for others";
  const std::string program = runtime_dir_ + "/program";
  std::filesystem::copy_file("/bin/true", program);
  auto job = MakeJob({program});
  job->uid = 12345;
  job->gid = 23456;
  EXPECT_EQ(Refusal(job).status, kErrJobAppNotExecutable);
  std::filesystem::remove(program);
}

TEST_F(StartTest, AMissingShimIsReported) {
  ProcessOptions options = Options();
  options.shim_path = "/no/such/shim";
  adapter_ = std::make_unique<ProcessAdapter>(&loop_, &sink_, options);
  const core::LocalPrepared answer = Refusal(MakeJob({"true"}));
  EXPECT_EQ(answer.status, kErrJobSysOpFailed);
  EXPECT_EQ(answer.text,
            "cannot start /no/such/shim: No such file or directory");
}

TEST_F(StartTest, ASecondPrepareOfANamespaceIsRefused) {
  const auto job = MakeJob({"sleep", "100"});
  ASSERT_TRUE(Launch(job));
  adapter_->Prepare(Local(job));
  ASSERT_EQ(Recorded().prepared.size(), 2u);
  EXPECT_EQ(Recorded().prepared[1].status, kErrExists);
}

TEST_F(StartTest, ANamespaceCanBeUsedAgain) {
  const auto job = MakeJob({"true"});
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(Run(job));
    adapter_->Forget("job");
    sink_.jobs.clear();
  }
}

TEST_F(StartTest, StartWithoutPrepareIsRefused) {
  adapter_->Start({"job"});
  ASSERT_EQ(Recorded().started.size(), 1u);
  EXPECT_EQ(Recorded().started[0].status, kErrNotFound);
}

}  // namespace
}  // namespace canopy::process
