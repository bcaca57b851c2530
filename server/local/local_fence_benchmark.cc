// Measures a fence on one node: the requests and answers of all clients pass
// through the endpoint, with a core that only counts. Clients and agent share
// one thread, so the time is the CPU time of both ends together.
#include <benchmark/benchmark.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/describe.h"
#include "common/local/collectives.h"
#include "common/local/greeting.h"
#include "common/posix/unix_socket.h"
#include "server/local/local_endpoint.h"

namespace canopy::local {
namespace {

class CountingCore : public InputSink {
 public:
  void OnInput(core::Input input) override {
    const auto* arrived = std::get_if<core::CollectiveArrived>(&input);
    if (arrived == nullptr) return;
    waiting.emplace_back(arrived->client, arrived->request);
    if (waiting.size() < size) return;
    for (const auto& [client, request] : waiting) {
      endpoint->Reply({client, request, 0, {}});
    }
    waiting.clear();
  }
  size_t size = 0;
  LocalEndpoint* endpoint = nullptr;
  std::vector<std::pair<core::ClientId, core::RequestId>> waiting;
};

std::string Frame(FrameType type, const std::string& payload) {
  FrameHeader header;
  header.type = static_cast<uint16_t>(type);
  header.length = static_cast<uint32_t>(payload.size());
  header.tag = 1;
  std::string frame(sizeof header, '\0');
  std::memcpy(frame.data(), &header, sizeof header);
  return frame + payload;
}

std::string FenceFrame() {
  return Frame(FrameType::kCollective, wire::Encode(Collective{}));
}

std::string HelloFrame(Rank rank) {
  return Frame(FrameType::kHello,
               wire::Encode(Hello{kProtocolVersion, {"job", rank}, {}, "b"}));
}

void BM_LocalFence(benchmark::State& state) {
  const auto ranks = static_cast<uint32_t>(state.range(0));
  std::string directory = "/tmp/canopy-bench-XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) {
    return state.SkipWithError("no directory");
  }
  EventLoop loop;
  CountingCore core;
  LocalOptions options;
  options.environment.socket_path = directory + "/s";
  options.segment = [](const std::string&) {
    return std::optional<SegmentRef>(SegmentRef{0, 1, nullptr});
  };
  auto endpoint =
      std::make_unique<LocalEndpoint>(&loop, &core, std::move(options));
  core.endpoint = endpoint.get();
  core.size = ranks;
  JobSpec job;
  job.nspace = "job";
  job.uid = getuid();
  job.apps.resize(1);
  job.nodes = {{"a", {}, 0, ranks}};
  job.procs.assign(ranks, {0, 0, ""});
  if (!endpoint->Start().ok()) return state.SkipWithError("no socket");
  endpoint->AddJob(
      {std::make_shared<JobSpec>(job), std::make_shared<JobLayout>(job)});
  std::vector<UniqueFd> clients;
  char buffer[4096];
  for (Rank r = 0; r < ranks; ++r) {
    endpoint->OnProcess("job", r, getpid());
    clients.push_back(std::move(ConnectUnix(directory + "/s").value()));
    const std::string hello = HelloFrame(r);
    (void)!write(clients.back().get(), hello.data(), hello.size());
    while (recv(clients.back().get(), buffer, sizeof buffer, MSG_DONTWAIT) <
           0) {
      loop.RunOnce(0);
    }
  }
  const std::string fence = FenceFrame();
  for (auto _ : state) {
    for (const UniqueFd& fd : clients) {
      (void)!write(fd.get(), fence.data(), fence.size());
    }
    for (const UniqueFd& fd : clients) {
      while (recv(fd.get(), buffer, sizeof buffer, MSG_DONTWAIT) < 0) {
        loop.RunOnce(0);
      }
    }
  }
  endpoint.reset();
  rmdir(directory.c_str());
}
BENCHMARK(BM_LocalFence)
    ->Arg(1)
    ->Arg(8)
    ->Arg(64)
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace canopy::local
