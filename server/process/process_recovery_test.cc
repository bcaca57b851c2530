// Tests processes that outlive their agent.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

#include "common/status.h"
#include "server/process/process_test_base.h"
#include "server/shim/protocol.h"
#include "server/shim/socket_file.h"

namespace canopy::process {
namespace {

class RecoveryTest : public ProcessTest {
 protected:
  RecoveryTest() {
    orphan_ms_ = 60000;
    MakeAdapter();
  }

  static std::shared_ptr<JobSpec> Shell(const std::string& script,
                                        uint32_t n = 1) {
    return MakeJob({"sh", "-c", script}, n);
  }

  // Replaces the agent by a new agent without any state.
  void RestartAgent() {
    sink_.jobs.clear();
    environment_.pids.clear();
    MakeAdapter();
  }

  std::vector<RecoveredJob> Recover() {
    bool called = false;
    std::vector<RecoveredJob> found;
    adapter_->Recover([&](std::vector<RecoveredJob> jobs) {
      called = true;
      found = std::move(jobs);
    });
    EXPECT_TRUE(RunUntil([&] { return called; }));
    // The fixture can forget only jobs that it knows.
    for (const RecoveredJob& job : found) sink_.jobs[job.job->nspace];
    return found;
  }

  bool WaitForOutput(Rank rank, const std::string& text) {
    return RunUntil(
        [&] { return Output(rank).find(text) != std::string::npos; });
  }
};

TEST_F(RecoveryTest, RecoversNothingIfThereAreNoShims) {
  EXPECT_TRUE(Recover().empty());
}

TEST_F(RecoveryTest, ARunningJobContinuesUnderASuccessor) {
  auto job = MakeJob({"cat"}, 3);
  job->stdin_rank = 2;
  job->map_by = "slot";
  ASSERT_TRUE(Launch(job));
  const std::map<Rank, int> pids = environment_.pids;
  ASSERT_TRUE(RunUntil([&] { return Recorded().exits.size() == 2; }));
  RestartAgent();

  const std::vector<RecoveredJob> found = Recover();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(EncodeJobSpec(*found[0].job), EncodeJobSpec(*job));
  EXPECT_EQ(found[0].layout->ranks_on(0).size(), 3u);
  EXPECT_TRUE(found[0].started);
  ASSERT_EQ(found[0].ranks.size(), 3u);
  EXPECT_EQ(found[0].ranks[0].phase, RankPhase::kEnded);
  EXPECT_EQ(found[0].ranks[1].phase, RankPhase::kEnded);
  EXPECT_EQ(found[0].ranks[2].phase, RankPhase::kRunning);
  EXPECT_EQ(found[0].ranks[2].pid, pids.at(2));
  EXPECT_TRUE(Recorded().exits.empty());

  adapter_->ResumeReports("job");
  EXPECT_EQ(environment_.pids, (std::map<Rank, int>{{2, pids.at(2)}}));
  adapter_->Feed({"job", {2}, Bytes(std::string("after"))});
  adapter_->Feed({"job", {2}, Bytes()});
  ASSERT_TRUE(WaitForExits(*job));
  EXPECT_EQ(Output(2), "after");
}

TEST_F(RecoveryTest, InputContinuesAtTheShimsPosition) {
  const auto job = MakeJob({"cat"}, 1);
  ASSERT_TRUE(Launch(job));
  adapter_->Feed({"job", {0}, Bytes(std::string("one ")), 4});
  ASSERT_TRUE(WaitForOutput(0, "one "));
  RestartAgent();
  ASSERT_EQ(Recover().size(), 1u);
  adapter_->ResumeReports("job");
  // The adapter requests the input after this position.
  ASSERT_TRUE(RunUntil([&] { return Recorded().input_asked == 4u; }));
  const auto feed = [&](const std::string& text, uint64_t end) {
    adapter_->Feed({"job", {0}, Bytes(text), end});
  };
  feed("three", 13);  // there is a gap before it
  feed("one ", 4);
  feed("e two ", 8);
  feed("two ", 8);
  feed("", 4);  // not the end
  feed("three", 13);
  feed("", 13);
  ASSERT_TRUE(WaitForExits(*job));
  EXPECT_EQ(Output(0).substr(Output(0).find("two")), "two three");
  EXPECT_EQ(Recorded().input_total, 13u);
}

TEST_F(RecoveryTest, RepeatedTextsArePrintedOnce) {
  // Without credit all output is reported again.
  sink_.on_output = nullptr;
  const auto job = Shell("sleep 100");
  ASSERT_TRUE(Launch(job));
  ProcessText text;
  text.proc = {"job", 0};
  text.client = 7;
  text.request = 100;
  text.pieces = {{true, "text"}};
  const auto put = [&] {
    std::optional<int> answer;
    adapter_->Put(text, [&answer](int status) { answer = status; });
    EXPECT_TRUE(RunUntil([&] { return answer.has_value(); }));
    EXPECT_EQ(answer, 0);
  };
  put();
  RestartAgent();
  ASSERT_EQ(Recover().size(), 1u);
  text.again = true;
  put();
  adapter_->ResumeReports("job");
  adapter_->Kill({"job", {}, 0});
  ASSERT_TRUE(WaitForExits(*job));
  EXPECT_EQ(Output(0, 4), "text");
}

TEST_F(RecoveryTest, AnExitWithoutAnAgentIsReportedToTheSuccessor) {
  const std::string barrier = runtime_dir_ + "/gate";
  const auto job = Shell("echo before; while [ ! -e " + barrier +
                         " ]; do sleep 0.01; done; " + "echo after; rm " +
                         barrier + "; exit 6");
  ASSERT_TRUE(Launch(job));
  ASSERT_TRUE(WaitForOutput(0, "before\n"));
  const int pid = environment_.pids[0];
  adapter_.reset();
  std::ofstream(barrier) << "open";
  ASSERT_TRUE(RunUntil([&] { return !IsAlive(pid); }));
  RestartAgent();
  ASSERT_EQ(Recover().size(), 1u);
  adapter_->ResumeReports("job");
  ASSERT_TRUE(WaitForExits(*job));
  EXPECT_EQ(WEXITSTATUS(Recorded().exits[0].wait_status), 6);
  EXPECT_EQ(Output(), "after\n");
  EXPECT_EQ(Recorded().closed.size(), 2u);
  EXPECT_EQ(Recorded().order.back(), "exit 0");
}

TEST_F(RecoveryTest, UnacknowledgedOutputIsReportedAgain) {
  const auto credit = sink_.on_output;
  sink_.on_output = nullptr;
  const auto job = MakeJob({ProbePath(), "pattern", "3000000"});
  ASSERT_TRUE(Launch(job));
  ASSERT_TRUE(RunUntil([&] { return Recorded().output_bytes == 1u << 20; }));
  const std::string first = Output();
  constexpr size_t kSeen = 300'001;
  adapter_->Credit({"job", kSeen});
  ASSERT_TRUE(
      RunUntil([&] { return Recorded().output_bytes == (1u << 20) + kSeen; }));
  RestartAgent();
  sink_.on_output = credit;
  ASSERT_EQ(Recover().size(), 1u);
  adapter_->ResumeReports("job");
  ASSERT_TRUE(WaitForExits(*job));
  const std::string all = first.substr(0, kSeen) + Output();
  ASSERT_EQ(all.size(), 3'000'000u);
  for (size_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(all[i], static_cast<char>('a' + i % 23)) << i;
  }
}

TEST_F(RecoveryTest, AllExitsAreReportedAgain) {
  const auto job = Shell("exit 4", 5);
  ASSERT_TRUE(Run(job));
  RestartAgent();
  const std::vector<RecoveredJob> found = Recover();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(WEXITSTATUS(found[0].ranks[4].wait_status), 4);
  adapter_->ResumeReports("job");
  ASSERT_TRUE(WaitForExits(*job));
  EXPECT_EQ(Recorded().closed.size(), 10u);
}

TEST_F(RecoveryTest, ASuccessorCanStartAPreparedJob) {
  const auto job = Shell("echo started");
  adapter_->Prepare(Local(job));
  ASSERT_TRUE(RunUntil([&] { return !Recorded().prepared.empty(); }));
  RestartAgent();
  const std::vector<RecoveredJob> found = Recover();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_FALSE(found[0].started);
  EXPECT_EQ(found[0].ranks[0].phase, RankPhase::kWaiting);
  adapter_->ResumeReports("job");
  adapter_->Start({"job"});
  ASSERT_TRUE(WaitForExits(*job));
  EXPECT_EQ(Output(), "started\n");
}

TEST_F(RecoveryTest, ASuccessorFindsAllJobs) {
  for (const char* nspace : {"a", "b", "c"}) {
    auto job = MakeJob({"sleep", "100"});
    job->nspace = nspace;
    ASSERT_TRUE(Launch(job));
  }
  RestartAgent();
  EXPECT_EQ(Recover().size(), 3u);
  EXPECT_EQ(adapter_->jobs(), 3u);
}

TEST_F(RecoveryTest, ASuccessorDoesNotFindAForgottenJob) {
  const auto job = MakeJob({ProbePath(), "stubborn"});
  ASSERT_TRUE(Launch(job));
  ASSERT_TRUE(WaitForOutput(0, "ready"));
  adapter_->Forget("job");
  loop_.RunOnce(0);
  RestartAgent();
  EXPECT_TRUE(Recover().empty());
}

TEST_F(RecoveryTest, ASuccessorGetsHeldDescriptors) {
  const auto job = MakeJob({"sleep", "100"});
  ASSERT_TRUE(Launch(job));
  int fds[2];
  ASSERT_EQ(pipe2(fds, O_CLOEXEC), 0);
  const UniqueFd read_end(fds[0]);
  adapter_->HoldFile("job", {"segment", UniqueFd(fds[1])});
  loop_.RunOnce(0);
  for (int restart = 0; restart < 2; ++restart) {
    RestartAgent();
    std::vector<RecoveredJob> found = Recover();
    ASSERT_EQ(found.size(), 1u);
    ASSERT_EQ(found[0].held.size(), 1u);
    EXPECT_EQ(found[0].held[0].name, "segment");
    ASSERT_EQ(write(found[0].held[0].fd.get(), "x", 1), 1);
    char c = 0;
    EXPECT_EQ(read(read_end.get(), &c, 1), 1);
    EXPECT_EQ(c, 'x');
  }
}

TEST_F(RecoveryTest, HoldConnectionSendsTheConnectionToTheShimAtOnce) {
  const auto job = MakeJob({"sleep", "100"});
  ASSERT_TRUE(Launch(job));
  ASSERT_TRUE(adapter_->HoldConnection("job", {"1", UniqueFd(dup(0))}));
  // The agent is restarted before its loop runs again.
  RestartAgent();
  const std::vector<RecoveredJob> found = Recover();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].held.size(), 1u);
}

// There are more connections than fit into one frame. At the end of the test,
// 200 of them are released.
TEST_F(RecoveryTest, ASuccessorGetsHeldConnections) {
  constexpr int kConnections = 450;
  constexpr int kEnded = 200;
  const auto job = Shell("read line; echo got $line; sleep 100");
  ASSERT_TRUE(Launch(job));
  int fds[2];
  ASSERT_EQ(pipe2(fds, O_CLOEXEC), 0);
  UniqueFd read_end(fds[0]);
  UniqueFd write_end(fds[1]);
  for (int i = 0; i < kConnections; ++i) {
    ASSERT_TRUE(adapter_->HoldConnection(
        "job", {std::to_string(i), UniqueFd(dup(write_end.get()))}));
  }
  EXPECT_FALSE(
      adapter_->HoldConnection("other", {"0", UniqueFd(dup(write_end.get()))}));
  EXPECT_FALSE(adapter_->HoldConnection("job", {"bad", UniqueFd()}));
  // The shim has received all connections that were sent before.
  adapter_->Feed({"job", {0}, Bytes(std::string("this\n"))});
  ASSERT_TRUE(WaitForOutput(0, "got this"));
  write_end.Reset();
  RestartAgent();
  std::vector<RecoveredJob> found = Recover();
  ASSERT_EQ(found.size(), 1u);
  std::set<std::string> names;
  for (const NamedFd& held : found[0].held) names.insert(held.name);
  EXPECT_EQ(names.size(), static_cast<size_t>(kConnections));
  ASSERT_EQ(write(found[0].held.back().fd.get(), "x", 1), 1);
  found.clear();
  for (int i = 0; i < kEnded; ++i) {
    adapter_->ReleaseConnection("job", std::to_string(i),
                                i == 199 ? FdStorePort::Release::kAtOnce
                                         : FdStorePort::Release::kBatched);
  }
  loop_.RunOnce(0);
  RestartAgent();
  found = Recover();
  ASSERT_EQ(found.size(), 1u);
  // The last few releases may not have been sent yet.
  EXPECT_LT(found[0].held.size(), kConnections - kEnded + 64u);
  EXPECT_GE(found[0].held.size(), static_cast<size_t>(kConnections - kEnded));
}

// A rank's next process has connections with the same names as its last
// process.
TEST_F(RecoveryTest, AConnectionCanBeHeldUnderAReleasedName) {
  ASSERT_TRUE(Launch(Shell("echo ready; sleep 100")));
  ASSERT_TRUE(WaitForOutput(0, "ready"));
  int fds[2];
  ASSERT_EQ(pipe2(fds, O_CLOEXEC), 0);
  UniqueFd read_end(fds[0]);
  ASSERT_TRUE(adapter_->HoldConnection("job", {"0", UniqueFd(fds[1])}));
  adapter_->ReleaseConnection("job", "0", FdStorePort::Release::kBatched);
  ASSERT_TRUE(adapter_->HoldConnection("job", {"0", std::move(read_end)}));
  adapter_->ReleaseConnection("job", "1", FdStorePort::Release::kAtOnce);
  RestartAgent();
  const std::vector<RecoveredJob> found = Recover();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(std::ranges::count(found[0].held, "0", &NamedFd::name), 1);
}

TEST_F(RecoveryTest, ANewerAgentTakesOverTheJobsOfAnOlderOne) {
  const auto job = Shell("echo ready; read line; echo got $line");
  ASSERT_TRUE(Launch(job));
  ASSERT_TRUE(WaitForOutput(0, "ready"));
  std::unique_ptr<ProcessAdapter> old = std::move(adapter_);
  MakeAdapter();
  ASSERT_EQ(Recover().size(), 1u);
  // The old adapter has no effect on the job that another adapter has taken
  // over.
  EXPECT_FALSE(RunUntilFor(20, [&] { return !Recorded().exits.empty(); }));
  old->Kill({"job", {}, 0});
  old->Forget("job");
  ASSERT_TRUE(RunUntil([&] { return old->ending() == 0; }));
  old.reset();
  adapter_->ResumeReports("job");
  adapter_->Feed({"job", {0}, Bytes(std::string("this\n"))});
  ASSERT_TRUE(WaitForOutput(0, "got this"));
}

TEST_F(RecoveryTest, ProcessesEndInTimeIfNoAgentReturns) {
  orphan_ms_ = 100;
  MakeAdapter();
  auto job = MakeJob({ProbePath(), "stubborn"}, 2);
  job->kill_grace_seconds = 0;
  ASSERT_TRUE(Launch(job));
  ASSERT_TRUE(WaitForOutput(1, "ready"));
  const int pid = environment_.pids[1];
  const int64_t before = EventLoop::Now();
  adapter_.reset();
  EXPECT_TRUE(RunUntil([&] { return !IsAlive(pid); }));
  EXPECT_GE(EventLoop::Now() - before, 100'000'000);
  EXPECT_TRUE(RunUntil([&] { return FilesLeft().empty(); }));
}

TEST_F(RecoveryTest, JobsOfAnEmbeddedAgentEndWithIt) {
  orphan_ms_ = 0;
  MakeAdapter();
  ASSERT_TRUE(Launch(MakeJob({"sleep", "100"}, 2)));
  const int pid = environment_.pids[1];
  adapter_.reset();
  EXPECT_TRUE(RunUntil([&] { return !IsAlive(pid); }));
  EXPECT_TRUE(RunUntil([&] { return FilesLeft().empty(); }));
}

TEST_F(RecoveryTest, TheLossOfAShimEndsAndReportsItsProcesses) {
  const auto job = Shell("echo $PPID; sleep 100", 3);
  ASSERT_TRUE(Launch(job));
  ASSERT_TRUE(WaitForOutput(0, "\n"));
  const int shim = atoi(Output().c_str());
  ASSERT_GT(shim, 1);
  ASSERT_EQ(kill(shim, SIGKILL), 0);
  ASSERT_TRUE(WaitForExits(*job));
  for (Rank rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(WTERMSIG(Recorded().exits[rank].wait_status), SIGKILL);
    EXPECT_TRUE(RunUntil([&] { return !IsAlive(environment_.pids[rank]); }));
    for (const int channel : {2, 4}) {
      const int closed = Recorded().closed[{rank, channel}];
      EXPECT_EQ(closed, 1);
    }
  }
  EXPECT_EQ(Recorded().order.back(), "exit 2");
  EXPECT_TRUE(FilesLeft().empty());
  adapter_->Feed({"job", {0}, Bytes(std::string("x"))});
  EXPECT_EQ(Recorded().input_done, 1u);
}

TEST_F(RecoveryTest, ProcessesOfALostShimAreFoundInAnySession) {
  const auto job = Shell(
      "setsid sleep 100 & echo $!; env -i sleep 100 & echo $!; echo $PPID; "
      "wait");
  ASSERT_TRUE(Launch(job));
  ASSERT_TRUE(
      RunUntil([&] { return std::ranges::count(Output(), '\n') == 3; }));
  std::istringstream numbers(Output());
  int in_session = 0, without_mark = 0, shim = 0;
  numbers >> in_session >> without_mark >> shim;
  ASSERT_GT(shim, 1);
  ASSERT_EQ(kill(shim, SIGKILL), 0);
  ASSERT_TRUE(WaitForExits(*job));
  EXPECT_TRUE(RunUntil([&] { return !IsAlive(in_session); }));
  EXPECT_TRUE(RunUntil([&] { return !IsAlive(without_mark); }));
}

TEST_F(RecoveryTest, AShimLostBeforeResumeIsReportedAtResume) {
  const auto job = Shell("echo $PPID; sleep 100", 2);
  ASSERT_TRUE(Launch(job));
  ASSERT_TRUE(WaitForOutput(0, "\n"));
  const int shim = atoi(Output().c_str());
  RestartAgent();
  ASSERT_EQ(Recover().size(), 1u);
  ASSERT_EQ(kill(shim, SIGKILL), 0);
  ASSERT_TRUE(RunUntil([&] { return FilesLeft().empty(); }));
  EXPECT_TRUE(Recorded().exits.empty());
  adapter_->ResumeReports("job");
  ASSERT_TRUE(WaitForExits(*job));
  EXPECT_EQ(WTERMSIG(Recorded().exits[1].wait_status), SIGKILL);
}

TEST_F(RecoveryTest, AShimLostBeforeStartFailsTheStart) {
  const auto job = MakeJob({"true"}, 2);
  adapter_->Prepare(Local(job));
  ASSERT_TRUE(RunUntil([&] { return !Recorded().prepared.empty(); }));
  std::ifstream children("/proc/self/task/" + std::to_string(getpid()) +
                         "/children");
  int shim = 0;
  ASSERT_TRUE(children >> shim);
  ASSERT_EQ(kill(shim, SIGKILL), 0);
  ASSERT_TRUE(RunUntil([&] { return FilesLeft().empty(); }));
  adapter_->Start({"job"});
  ASSERT_TRUE(WaitForExits(*job));
  ASSERT_EQ(Recorded().started.size(), 1u);
  EXPECT_EQ(Recorded().started[0].status, kErrJobFailedToLaunch);
}

TEST_F(RecoveryTest, AShimThatGetsSigtermEndsItsProcesses) {
  const auto job = Shell("echo $PPID; sleep 100");
  ASSERT_TRUE(Launch(job));
  ASSERT_TRUE(WaitForOutput(0, "\n"));
  ASSERT_EQ(kill(atoi(Output().c_str()), SIGTERM), 0);
  ASSERT_TRUE(WaitForExits(*job));
  EXPECT_TRUE(RunUntil([&] { return !IsAlive(environment_.pids[0]); }));
}

TEST_F(RecoveryTest, TheSocketOfADeadShimIsRemoved) {
  {
    const Result<UniqueFd> directory = OpenDirectory(runtime_dir_);
    ASSERT_TRUE(directory.ok());
    ASSERT_TRUE(ListenAt(directory->get(), ShimSocketName("job")).ok());
  }
  ASSERT_EQ(FilesLeft().size(), 1u);
  // The socket of the dead shim does not obstruct a new job of the same name.
  EXPECT_TRUE(Run(MakeJob({"true"})));
  EXPECT_TRUE(Forget("job"));
  EXPECT_TRUE(FilesLeft().empty());
}

TEST_F(RecoveryTest, OnlyStaleSocketsAreRemoved) {
  const std::string other = runtime_dir_ + "/shim-note.txt";
  std::ofstream(other) << "mine";
  ASSERT_TRUE(Launch(Shell("echo $PPID; sleep 100")));
  ASSERT_TRUE(WaitForOutput(0, "\n"));
  const int shim = atoi(Output().c_str());
  adapter_.reset();
  ASSERT_EQ(kill(-environment_.pids[0], SIGKILL), 0);
  ASSERT_EQ(kill(shim, SIGKILL), 0);
  ASSERT_TRUE(RunUntil([&] { return !IsAlive(shim); }));
  EXPECT_EQ(FilesLeft().size(), 2u);
  RestartAgent();
  EXPECT_TRUE(Recover().empty());
  EXPECT_EQ(FilesLeft(), std::vector<std::string>{"shim-note.txt"});
  ASSERT_EQ(unlink(other.c_str()), 0);
}

TEST_F(RecoveryTest, AShimThatDoesNotAnswerDelaysNoOtherJob) {
  ASSERT_TRUE(Launch(Shell("echo $PPID; sleep 100")));
  ASSERT_TRUE(WaitForOutput(0, "\n"));
  const int shim = atoi(Output().c_str());
  auto other = MakeJob({"sleep", "100"});
  other->nspace = "other";
  ASSERT_TRUE(Launch(other));
  RestartAgent();
  ASSERT_EQ(kill(shim, SIGSTOP), 0);
  const std::vector<RecoveredJob> found = Recover();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].job->nspace, "other");
  ASSERT_EQ(kill(shim, SIGCONT), 0);
  RestartAgent();
  EXPECT_EQ(Recover().size(), 2u);
}

TEST_F(RecoveryTest, AShimClosesAConnectionThatSendsGarbage) {
  ASSERT_TRUE(Launch(MakeJob({"sleep", "100"})));
  const Result<UniqueFd> directory = OpenDirectory(runtime_dir_);
  ASSERT_TRUE(directory.ok());
  const Result<UniqueFd> socket =
      ConnectAt(directory->get(), ShimSocketName("job"));
  ASSERT_TRUE(socket.ok());
  const std::string garbage(1000, '\xff');
  ASSERT_EQ(write(socket->get(), garbage.data(), garbage.size()), 1000);
  char c;
  EXPECT_TRUE(RunUntil([&] { return recv(socket->get(), &c, 1, 0) == 0; }));
  // The shim still serves the agent.
  adapter_->Kill({"job", {}, 0});
  EXPECT_TRUE(RunUntil([&] { return !Recorded().exits.empty(); }));
}

}  // namespace
}  // namespace canopy::process
