// The base of the adapter's tests: a loop, a sink that records its inputs,
// helpers that describe jobs, and a check that nothing remains.
#ifndef CANOPY_SERVER_PROCESS_PROCESS_TEST_BASE_H_
#define CANOPY_SERVER_PROCESS_PROCESS_TEST_BASE_H_

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/event_loop.h"
#include "server/core/step/process_actions.h"
#include "server/ports/input_sink.h"
#include "server/ports/process_environment.h"
#include "server/process/process_adapter.h"

namespace canopy::process {

// Records the adapter's reports for each job.
class RecordingSink : public InputSink {
 public:
  struct Job {
    std::vector<core::LocalPrepared> prepared;
    std::vector<core::LocalStarted> started;
    std::vector<core::LocalProcesses> processes;
    std::map<Rank, core::ProcExit> exits;
    std::map<std::pair<Rank, int>, std::string> output;
    std::map<std::pair<Rank, int>, int> closed;
    uint64_t output_bytes = 0;
    uint64_t input_done = 0;
    uint64_t input_total = 0;  // total in the last report
    // The position from which the input is to be resent.
    std::optional<uint64_t> input_asked;
    // The reports in the order of their arrival: "out", "close", "exit" and the
    // rank.
    std::vector<std::string> order;
  };

  void OnInput(core::Input input) override;

  std::map<std::string, Job> jobs;
  // Called with every piece of output.
  std::function<void(const core::LocalOutput&)> on_output;
  // If false, the output is not stored. Used for large amounts of output.
  bool keep_output = true;
};

// Contributes the variables that a test sets.
class FakeEnvironment : public ProcessEnvironment {
 public:
  std::vector<std::string> ForJob(const core::PrepareLocal& job) override;
  std::vector<std::string> ForRank(const core::PrepareLocal& job,
                                   Rank rank) override;
  InheritedFd FdForRank(const core::PrepareLocal& job, Rank rank) override;
  void OnProcess(const std::string& nspace, Rank rank, int pid) override;

  std::vector<std::string> for_job;
  std::function<std::vector<std::string>(Rank)> for_rank;
  std::function<InheritedFd(Rank)> fd_for_rank;
  std::map<Rank, int> pids;
};

class ProcessTest : public testing::Test {
 protected:
  ProcessTest();
  // Fails the test if a process, or a file in the runtime directory, remains.
  ~ProcessTest() override;

  ProcessOptions Options() const;
  void MakeAdapter();
  // Runs the loop until the condition holds. Returns false if it does not hold
  // after 20 seconds.
  bool RunUntil(const std::function<bool()>& condition);
  // Like RunUntil, with another time limit.
  bool RunUntilFor(int64_t milliseconds,
                   const std::function<bool()>& condition);

  // Returns a job of one application with n ranks on this node.
  static std::shared_ptr<JobSpec> MakeJob(std::vector<std::string> argv,
                                          uint32_t n = 1);
  static core::PrepareLocal Local(std::shared_ptr<const JobSpec> job);
  // Prepares and starts a job. Returns false if either fails.
  bool Launch(const std::shared_ptr<const JobSpec>& job);
  // Waits until every local rank of the job has been reported as ended.
  bool WaitForExits(const JobSpec& job);
  bool Run(const std::shared_ptr<const JobSpec>& job);
  // Forgets the job and waits until its shim has ended.
  bool Forget(const std::string& nspace);
  std::string Output(Rank rank = 0, int channel = 2);
  RecordingSink::Job& Recorded() { return sink_.jobs["job"]; }

  std::vector<std::string> FilesLeft() const;
  static std::string ProbePath();

  std::string runtime_dir_;
  uint32_t orphan_ms_ = 0;
  uint32_t shim_answer_ms_ = 5000;
  EnvironmentRules rules_;
  std::function<std::string(const std::string& nspace)> job_directory_;
  EventLoop loop_;
  RecordingSink sink_;
  FakeEnvironment environment_;
  std::unique_ptr<ProcessAdapter> adapter_;
};

// Returns true if the process exists and is not a zombie.
bool IsAlive(int pid);

// Returns the children of this process, including zombies. Since the test is a
// subreaper, these include all processes that a shim could leave behind.
std::vector<int> Children();

}  // namespace canopy::process

#endif  // CANOPY_SERVER_PROCESS_PROCESS_TEST_BASE_H_
