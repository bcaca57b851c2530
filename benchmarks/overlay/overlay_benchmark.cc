// Measures the cost of one tree edge between a parent in a process of its own
// and a child in this process. Run it as is ("free") and under `taskset -c 0`
// ("pinned").
#include <benchmark/benchmark.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>

#include "common/event_loop.h"
#include "server/overlay/grpc_overlay.h"
#include "server/ports/input_sink.h"

namespace canopy::overlay {
namespace {

using core::PeerMessage;

class CallbackSink : public InputSink {
 public:
  void OnInput(core::Input input) override {
    if (auto* peer = std::get_if<core::PeerArrived>(&input)) {
      on_message(std::move(peer->message));
    }
  }
  std::function<void(PeerMessage)> on_message;
};

// The resources that the process has used since its start.
struct Usage {
  double cpu_us = 0;
  double switches = 0;

  static Usage Now() {
    rusage r;
    getrusage(RUSAGE_SELF, &r);
    Usage u;
    u.cpu_us =
        static_cast<double>(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1e6 +
        static_cast<double>(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
    u.switches = static_cast<double>(r.ru_nvcsw);
    return u;
  }
};

OverlayConfig Config(NodeId self, bool tls) {
  OverlayConfig config;
  config.self = self;
  config.members = {{"parent", ""}, {"child", ""}};
  config.listen = "127.0.0.1:0";
  config.overlay_id = "benchmark";
  config.security.mode = tls ? security::SecurityMode::kDerived
                             : security::SecurityMode::kPlaintext;
  config.security.key = *security::ClusterKey::FromHex(std::string(64, '5'));
  return config;
}

// Runs the parent: echoes credits, answers a StateQuery with its usage, and all
// other messages with a credit. Writes its port to `port_fd`.
[[noreturn]] void RunParent(int port_fd, bool tls) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  EventLoop loop;
  CallbackSink sink;
  const auto overlay = MakeGrpcOverlay(&loop, &sink, Config(0, tls), {});
  sink.on_message = [&](PeerMessage m) {
    if (std::holds_alternative<core::StateQuery>(m.body)) {
      const Usage u = Usage::Now();
      std::string text(reinterpret_cast<const char*>(&u), sizeof u);
      overlay->Send({0, 1, core::StateReply{1, Bytes(std::move(text))}});
    } else if (std::holds_alternative<core::OutputCredit>(m.body)) {
      overlay->Send({0, 1, std::move(m.body)});
    } else {
      overlay->Send({0, 1, core::OutputCredit{"data", 1}});
    }
  };
  if (!overlay->Listen().ok()) _exit(1);
  const int port = overlay->port();
  if (write(port_fd, &port, sizeof port) != sizeof port) _exit(1);
  overlay->Join();
  loop.Run();
  _exit(0);
}

class Edge {
 public:
  explicit Edge(int parent_port, bool tls)
      : overlay_(MakeGrpcOverlay(&loop_, &sink_, Config(1, tls), {})) {
    sink_.on_message = [this](PeerMessage m) {
      ++arrived_;
      last_ = std::move(m);
    };
    if (!overlay_->Listen().ok()) abort();
    overlay_->SetAddress(0, "127.0.0.1:" + std::to_string(parent_port));
    overlay_->Join();
    while (!overlay_->ready()) loop_.RunOnce(-1);
  }

  void Send(core::MessageBody body) { overlay_->Send({1, 0, std::move(body)}); }
  void Await(int n) {
    while (arrived_ < n) loop_.RunOnce(-1);
    arrived_ = 0;
  }
  Usage ParentUsage() {
    Send(core::StateQuery{1, "status", ""});
    Await(1);
    Usage u;
    const auto& reply = std::get<core::StateReply>(last_.body);
    memcpy(&u, reply.answer.view().data(), sizeof u);
    return u;
  }

 private:
  EventLoop loop_;
  CallbackSink sink_;
  const std::unique_ptr<TreeOverlay> overlay_;
  int arrived_ = 0;
  PeerMessage last_;
};

// The ports of the parents. Each parent is a process, forked before gRPC starts
// threads in this process.
struct Parents {
  int plain_port = 0;
  int tls_port = 0;
};

int StartParent(bool tls) {
  int fds[2];
  if (pipe(fds) != 0) abort();
  if (fork() == 0) RunParent(fds[1], tls);
  int port = 0;
  if (read(fds[0], &port, sizeof port) != sizeof port) abort();
  return port;
}

Parents& ParentPorts() {
  static Parents parents;
  return parents;
}

Edge& PlainEdge() {
  static auto* edge = new Edge(ParentPorts().plain_port, false);
  return *edge;
}

Edge& TlsEdge() {
  static auto* edge = new Edge(ParentPorts().tls_port, true);
  return *edge;
}

class Meter {
 public:
  explicit Meter(Edge& edge)
      : edge_(edge), parent_(edge.ParentUsage()), own_(Usage::Now()) {}
  void Report(benchmark::State& state) {
    const Usage own = Usage::Now();
    const Usage parent = edge_.ParentUsage();
    const auto rate = benchmark::Counter::kAvgIterations;
    state.counters["cpu_us"] = benchmark::Counter(
        own.cpu_us - own_.cpu_us + parent.cpu_us - parent_.cpu_us, rate);
    state.counters["switches"] = benchmark::Counter(
        own.switches - own_.switches + parent.switches - parent_.switches,
        rate);
  }

 private:
  Edge& edge_;
  const Usage parent_;
  const Usage own_;
};

// With this name, a message has about 64 bytes when it is encoded.
const std::string kName(48, 'n');

void RoundTrip(benchmark::State& state, Edge& edge) {
  Meter meter(edge);
  for (auto _ : state) {
    edge.Send(core::OutputCredit{kName, 1});
    edge.Await(1);
  }
  meter.Report(state);
}
void BM_RoundTrip64(benchmark::State& state) { RoundTrip(state, PlainEdge()); }
void BM_RoundTrip64Tls(benchmark::State& state) { RoundTrip(state, TlsEdge()); }
BENCHMARK(BM_RoundTrip64)->UseRealTime();
BENCHMARK(BM_RoundTrip64Tls)->UseRealTime();

// Sends a batch of messages, each of which the parent answers.
void BM_Batch(benchmark::State& state) {
  Edge& edge = PlainEdge();
  const int n = static_cast<int>(state.range(0));
  Meter meter(edge);
  for (auto _ : state) {
    for (int i = 0; i < n; ++i) edge.Send(core::OutputCredit{kName, 1});
    edge.Await(n);
  }
  meter.Report(state);
  state.SetItemsProcessed(state.iterations() * n);
}
BENCHMARK(BM_Batch)->Arg(8)->Arg(64)->Arg(512)->UseRealTime();

// Sends one large message to the parent, which answers with a small message.
void Data(benchmark::State& state, Edge& edge) {
  const Bytes data(std::string(static_cast<size_t>(state.range(0)), 'd'));
  Meter meter(edge);
  for (auto _ : state) {
    edge.Send(core::DmodexReply{1, 0, {"job", 0}, data});
    edge.Await(1);
  }
  meter.Report(state);
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
void BM_Data(benchmark::State& state) { Data(state, PlainEdge()); }
void BM_DataTls(benchmark::State& state) { Data(state, TlsEdge()); }
BENCHMARK(BM_Data)
    ->Arg(1 << 10)
    ->Arg(1 << 16)
    ->Arg(1 << 20)
    ->Arg(1 << 24)
    ->UseRealTime();
BENCHMARK(BM_DataTls)->Arg(1 << 16)->Arg(1 << 24)->UseRealTime();

}  // namespace

void StartParents() {
  ParentPorts().plain_port = StartParent(false);
  ParentPorts().tls_port = StartParent(true);
}

}  // namespace canopy::overlay

int main(int argc, char** argv) {
  canopy::overlay::StartParents();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
