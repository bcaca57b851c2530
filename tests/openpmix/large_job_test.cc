// Tests a job of 20,000 ranks, which the agents' endpoint describes to Debian's
// OpenPMIx library. Only the endpoint and one client exist.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "server/openpmix/openpmix_endpoint.h"
#include "server/openpmix/openpmix_testing.h"

namespace canopy::openpmix {
namespace {

constexpr uint32_t kRanks = 20000;
constexpr uint32_t kPerNode = 100;
constexpr char kClient[] = "tests/openpmix/large_job_client";

std::shared_ptr<const JobSpec> LargeJob() {
  auto job = std::make_shared<JobSpec>();
  job->nspace = "large";
  job->uid = geteuid();
  job->apps = {{"a.out", {"a.out"}, {}, "", kRanks}};
  for (uint32_t n = 0; n < kRanks / kPerNode; ++n) {
    job->nodes.push_back({"node" + std::to_string(n), {}, n, kPerNode});
  }
  for (Rank rank = 0; rank < kRanks; ++rank) {
    job->procs.push_back({rank / kPerNode, 0, ""});
  }
  return job;
}

// Accepts the finalization, and reports unknown data as not found.
class Sink : public InputSink {
 public:
  void OnInput(core::Input input) override {
    if (const auto* end = std::get_if<core::FinalizeArrived>(&input)) {
      endpoint->Reply({end->client, end->request, kSuccess, {}});
    } else if (const auto* get = std::get_if<core::GetArrived>(&input)) {
      endpoint->Reply({get->client, get->request, kErrNotFound, {}});
    }
  }
  OpenPmixEndpoint* endpoint = nullptr;
};

pid_t StartClient(std::vector<std::string> environment) {
  environment.insert(environment.end(), {"PMIX_NAMESPACE=large", "PMIX_RANK=0",
                                         "PMIX_HOSTNAME=node0"});
  std::vector<char*> env;
  for (std::string& entry : environment) env.push_back(entry.data());
  env.push_back(nullptr);
  const std::string ranks = std::to_string(kRanks);
  const std::string per_node = std::to_string(kPerNode);
  const pid_t pid = fork();
  if (pid == 0) {
    execle(kClient, kClient, ranks.c_str(), per_node.c_str(), nullptr,
           env.data());
    _exit(127);
  }
  return pid;
}

TEST(LargeJob, AnOpenPmixClientGetsTheDataOfALargeJob) {
  const auto job = LargeJob();
  const TestSegment segment(*job);
  ASSERT_NE(segment.reader(), nullptr);
  EventLoop loop;
  Sink sink;
  OpenPmixOptions options;
  options.server = {"srv", 0};
  options.host = "node0";
  options.job_data = [&](const std::string&) { return segment.reader(); };
  options.log = [](const core::LogLine& line) { ADD_FAILURE() << line.text; };
  OpenPmixEndpoint endpoint(&loop, &sink, std::move(options));
  sink.endpoint = &endpoint;
  ASSERT_TRUE(endpoint.Start().ok());
  const auto layout = std::make_shared<JobLayout>(*job);
  endpoint.AddJob({job, layout});
  const pid_t pid = StartClient(endpoint.ForJob({job, layout}));
  ASSERT_GT(pid, 0);
  endpoint.OnProcess("large", 0, pid);
  int status = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) loop.RunOnce(10);
  EXPECT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace canopy::openpmix
