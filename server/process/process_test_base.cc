#include "server/process/process_test_base.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

namespace canopy::process {
namespace {

constexpr int64_t kPatienceMs = 120'000;

std::string Absolute(const std::string& path) {
  return std::filesystem::absolute(path).string();
}

}  // namespace

std::vector<int> Children() {
  std::vector<int> out;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream in(entry.path() / "children");
    for (int pid; in >> pid;) out.push_back(pid);
  }
  return out;
}

bool IsAlive(int pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(in, line)) return false;
  const size_t name_end = line.rfind(')');
  return name_end != std::string::npos && line[name_end + 2] != 'Z';
}

void RecordingSink::OnInput(core::Input input) {
  if (auto* prepared = std::get_if<core::LocalPrepared>(&input)) {
    jobs[prepared->nspace].prepared.push_back(*prepared);
  } else if (auto* started = std::get_if<core::LocalStarted>(&input)) {
    jobs[started->nspace].started.push_back(*started);
  } else if (auto* processes = std::get_if<core::LocalProcesses>(&input)) {
    jobs[processes->nspace].processes.push_back(*processes);
  } else if (auto* done = std::get_if<core::LocalInputDone>(&input)) {
    Job& job = jobs[done->nspace];
    job.input_done += done->bytes;
    job.input_total = done->total;
    if (done->resend) job.input_asked = done->total;
  } else if (auto* exits = std::get_if<core::LocalExits>(&input)) {
    Job& job = jobs[exits->nspace];
    for (const core::ProcExit& exit : exits->exits) {
      EXPECT_TRUE(job.exits.emplace(exit.rank, exit).second)
          << "a second exit of rank " << exit.rank;
      job.order.push_back("exit " + std::to_string(exit.rank));
    }
  } else if (auto* output = std::get_if<core::LocalOutput>(&input)) {
    Job& job = jobs[output->nspace];
    const std::pair<Rank, int> stream(output->rank, output->channel);
    job.output_bytes += output->data.size();
    if (output->data.empty()) {
      ++job.closed[stream];
      job.order.push_back("close " + std::to_string(output->rank));
    } else {
      EXPECT_FALSE(job.closed.contains(stream))
          << "output after the stream's end";
      if (keep_output) job.output[stream] += output->data.view();
    }
    if (on_output) on_output(*output);
  }
}

std::vector<std::string> FakeEnvironment::ForJob(const core::PrepareLocal&) {
  return for_job;
}

std::vector<std::string> FakeEnvironment::ForRank(const core::PrepareLocal&,
                                                  Rank rank) {
  return for_rank ? for_rank(rank) : std::vector<std::string>();
}

ProcessEnvironment::InheritedFd FakeEnvironment::FdForRank(
    const core::PrepareLocal&, Rank rank) {
  return fd_for_rank ? fd_for_rank(rank) : InheritedFd();
}

void FakeEnvironment::OnProcess(const std::string&, Rank rank, int pid) {
  pids[rank] = pid;
}

ProcessTest::ProcessTest() {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  std::string pattern = testing::TempDir() + "/processXXXXXX";
  runtime_dir_ = mkdtemp(pattern.data());
  sink_.on_output = [this](const core::LocalOutput& output) {
    adapter_->Credit({output.nspace, output.data.size()});
  };
  MakeAdapter();
}

ProcessTest::~ProcessTest() {
  std::vector<std::string> names;
  for (const auto& [name, job] : sink_.jobs) names.push_back(name);
  for (const std::string& name : names) {
    if (adapter_ != nullptr) adapter_->Forget(name);
  }
  EXPECT_TRUE(RunUntil(
      [this] { return adapter_ == nullptr || adapter_->ending() == 0; }));
  adapter_.reset();
  // Shims whose adapter was destroyed before they ended are reaped here.
  EXPECT_TRUE(RunUntil([] {
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    return Children().empty();
  })) << "processes are left over";
  EXPECT_EQ(FilesLeft(), std::vector<std::string>());
  std::filesystem::remove_all(runtime_dir_);
}

ProcessOptions ProcessTest::Options() const {
  ProcessOptions options;
  options.shim_path = Absolute("server/shim/canopy-shim");
  options.runtime_dir = runtime_dir_;
  options.environment = rules_;
  options.job_directory = job_directory_;
  options.orphan_ms = orphan_ms_;
  options.shim_answer_ms = shim_answer_ms_;
  return options;
}

void ProcessTest::MakeAdapter() {
  adapter_.reset();
  adapter_ = std::make_unique<ProcessAdapter>(&loop_, &sink_, Options());
  adapter_->set_environments({&environment_});
}

bool ProcessTest::RunUntil(const std::function<bool()>& condition) {
  return RunUntilFor(kPatienceMs, condition);
}

bool ProcessTest::RunUntilFor(int64_t milliseconds,
                              const std::function<bool()>& condition) {
  const int64_t deadline = EventLoop::Now() + milliseconds * 1'000'000;
  while (!condition()) {
    if (EventLoop::Now() > deadline) return false;
    loop_.RunOnce(10);
  }
  return true;
}

std::shared_ptr<JobSpec> ProcessTest::MakeJob(std::vector<std::string> argv,
                                              uint32_t n) {
  auto job = std::make_shared<JobSpec>();
  job->nspace = "job";
  job->uid = getuid();
  job->gid = getgid();
  job->nodes.push_back({"here", {}, 0, n});
  JobApp app;
  app.cmd = argv[0];
  app.argv = std::move(argv);
  app.num_procs = n;
  job->apps.push_back(std::move(app));
  job->procs.resize(n);
  job->env = {"PATH=/usr/bin:/bin", "HOME=/nowhere"};
  return job;
}

core::PrepareLocal ProcessTest::Local(std::shared_ptr<const JobSpec> job) {
  auto layout = std::make_shared<const JobLayout>(*job);
  return {std::move(job), std::move(layout)};
}

bool ProcessTest::Launch(const std::shared_ptr<const JobSpec>& job) {
  RecordingSink::Job& recorded = sink_.jobs[job->nspace];
  adapter_->Prepare(Local(job));
  if (!RunUntil([&] { return !recorded.prepared.empty(); })) return false;
  EXPECT_EQ(recorded.prepared[0].status, 0) << recorded.prepared[0].text;
  if (recorded.prepared[0].status != 0) return false;
  adapter_->Start({job->nspace, recorded.prepared[0].port});
  if (!RunUntil([&] { return !recorded.started.empty(); })) return false;
  EXPECT_EQ(recorded.started[0].status, 0) << recorded.started[0].text;
  return recorded.started[0].status == 0;
}

bool ProcessTest::WaitForExits(const JobSpec& job) {
  const RecordingSink::Job& recorded = sink_.jobs[job.nspace];
  return RunUntil([&] { return recorded.exits.size() == job.procs.size(); });
}

bool ProcessTest::Run(const std::shared_ptr<const JobSpec>& job) {
  return Launch(job) && WaitForExits(*job);
}

bool ProcessTest::Forget(const std::string& nspace) {
  adapter_->Forget(nspace);
  return RunUntil([this] { return adapter_->ending() == 0; });
}

std::string ProcessTest::Output(Rank rank, int channel) {
  return Recorded().output[{rank, channel}];
}

std::vector<std::string> ProcessTest::FilesLeft() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(runtime_dir_)) {
    names.push_back(entry.path().filename());
  }
  return names;
}

std::string ProcessTest::ProbePath() {
  return Absolute("server/process/probe");
}

}  // namespace canopy::process
