// The overlay over connections that break or stall.
#include "server/overlay/grpc_transport.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <list>
#include <optional>

#include "server/overlay/overlay_testing.h"
#include "server/rpc/driver_choice.h"

namespace canopy::overlay {
namespace {

// Forwards connections to a port of this host until it breaks them or stalls.
class Proxy {
 public:
  Proxy(EventLoop* loop, int target) : loop_(loop), target_(target) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = Loopback(0);
    bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    listen(listener_, 16);
    socklen_t size = sizeof address;
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    loop_->Watch(listener_, EPOLLIN, [this](uint32_t) { Accept(); });
  }
  ~Proxy() {
    BreakAll();
    loop_->Unwatch(listener_);
    close(listener_);
  }

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  int connections() const { return connections_; }
  // Number of packets with data, from both sides.
  int packets() const {
    int all = 0;
    for (const Pair& p : pairs_) all += PacketsOf(p.a) + PacketsOf(p.b);
    return all;
  }

  void BreakAll() {
    while (!pairs_.empty()) Drop(pairs_.begin());
  }
  // Stops forwarding, without closing anything.
  void Stall() {
    for (const Pair& p : pairs_) {
      loop_->Unwatch(p.a);
      loop_->Unwatch(p.b);
    }
    stalled_ = true;
  }

 private:
  struct Pair {
    int a;
    int b;
  };
  using Ref = std::list<Pair>::iterator;

  static sockaddr_in Loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }
  static int PacketsOf(int fd) {
    tcp_info info{};
    socklen_t size = sizeof info;
    getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size);
    return static_cast<int>(info.tcpi_data_segs_in);
  }
  void Accept() {
    const int a = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const int b = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = Loopback(target_);
    connect(b, reinterpret_cast<sockaddr*>(&address), sizeof address);
    ++connections_;
    const int on = 1;
    for (const int fd : {a, b}) {
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    const Ref pair = pairs_.insert(pairs_.end(), {a, b});
    if (stalled_) return;
    loop_->Watch(a, EPOLLIN, [this, pair](uint32_t) { Move(pair, true); });
    loop_->Watch(b, EPOLLIN, [this, pair](uint32_t) { Move(pair, false); });
  }
  void Move(Ref pair, bool forward) {
    char buffer[65536];
    const int from = forward ? pair->a : pair->b;
    const int to = forward ? pair->b : pair->a;
    const ssize_t n = read(from, buffer, sizeof buffer);
    if (n <= 0 || write(to, buffer, n) != n) Drop(pair);
  }
  void Drop(Ref pair) {
    for (const int fd : {pair->a, pair->b}) {
      loop_->Unwatch(fd);
      close(fd);
    }
    pairs_.erase(pair);
  }

  EventLoop* const loop_;
  const int target_;
  int listener_ = -1;
  int port_ = 0;
  int connections_ = 0;
  bool stalled_ = false;
  std::list<Pair> pairs_;
};

core::PeerMessage Note(NodeId to, uint64_t number) {
  return {kNoNode, to, core::OutputCredit{"job", number}};
}

// Two members; the child reaches its parent through a proxy.
struct ProxiedPair {
  explicit ProxiedPair(uint32_t grace_ms, uint32_t detect_ms = 5000)
      : cluster(2) {
    cluster.base().grace_ms = grace_ms;
    cluster.base().detect_ms = detect_ms;
    cluster.Start(0);
    proxy = std::make_unique<Proxy>(&cluster.loop(), cluster.overlay(0).port());
    cluster.Start(1);
    cluster.overlay(1).SetAddress(0, proxy->address());
    cluster.overlay(0).Join();
    cluster.overlay(1).Join();
  }
  ~ProxiedPair() {
    // The members and the proxy must end before the loop.
    cluster.Kill(1);
    cluster.Kill(0);
    proxy.reset();
  }

  TestCluster cluster;
  std::unique_ptr<Proxy> proxy;
};

TEST(GrpcTransportTest, ABrokenConnectionLosesNoMessage) {
  ProxiedPair pair(20000);
  TestCluster& cluster = pair.cluster;
  ASSERT_TRUE(cluster.AllReady());
  constexpr uint64_t kCount = 4000;
  int breaks = 0;
  for (uint64_t i = 0; i < kCount; ++i) {
    cluster.overlay(1).Send(Note(0, i));
    cluster.overlay(0).Send(Note(1, i));
    if (i % 1000 == 500) {
      const size_t got = cluster.node(0).sink.messages.size();
      // Messages that arrived before a break are still delivered after it.
      cluster.WaitFor([&] {
        return cluster.node(0).sink.messages.size() > got &&
               pair.proxy->connections() > breaks;
      });
      pair.proxy->BreakAll();
      ++breaks;
    }
  }
  ASSERT_TRUE(cluster.WaitFor([&] {
    return cluster.node(0).sink.messages.size() >= kCount &&
           cluster.node(1).sink.messages.size() >= kCount;
  }));
  for (const NodeId id : {0u, 1u}) {
    const auto& got = cluster.node(id).sink.messages;
    ASSERT_EQ(got.size(), kCount);
    for (uint64_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(std::get<core::OutputCredit>(got[i].body).bytes, i);
    }
    EXPECT_TRUE(cluster.node(id).sink.states.empty());
  }
  EXPECT_GE(pair.proxy->connections(), 4);
}

// An answer carries the window update for its question, so that a round trip
// takes three packets instead of four. The third one is the update for the
// answer: it is sent separately if no message follows soon, which is often the
// case here, where the loops take turns in one thread.
TEST(GrpcTransportTest, WindowUpdatesAreSentTogetherWithMessages) {
  if (rpc::ChooseDriver().kind != rpc::DriverKind::kInLoop) {
    GTEST_SKIP() << "no read is deferred";
  }
  ProxiedPair pair(20000);
  TestCluster& cluster = pair.cluster;
  ASSERT_TRUE(cluster.AllReady());
  cluster.node(0).sink.on_message = [&](const core::PeerMessage&) {
    cluster.overlay(0).Send(Note(1, 0));
  };
  constexpr int kRoundTrips = 50;
  constexpr int kGood = kRoundTrips * 7 / 2;
  int least = 4 * kRoundTrips;
  for (int batch = 0; batch < 50 && least >= kGood; ++batch) {
    const int before = pair.proxy->packets();
    for (int i = 0; i < kRoundTrips; ++i) {
      const size_t got = cluster.node(1).sink.messages.size();
      cluster.overlay(1).Send(Note(0, 0));
      ASSERT_TRUE(cluster.WaitFor(
          [&] { return cluster.node(1).sink.messages.size() > got; }));
    }
    least = std::min(least, pair.proxy->packets() - before);
  }
  EXPECT_LT(least, kGood);
}

TEST(GrpcTransportTest, ASilentPeerIsDetectedInTime) {
  ProxiedPair pair(200, 600);
  TestCluster& cluster = pair.cluster;
  ASSERT_TRUE(cluster.AllReady());
  const int64_t start = EventLoop::Now();
  pair.proxy->Stall();
  ASSERT_TRUE(cluster.WaitFor([&] {
    return !cluster.node(0).sink.states.empty() &&
           !cluster.node(1).sink.states.empty();
  }));
  const int64_t took_ms = (EventLoop::Now() - start) / 1000000;
  EXPECT_LT(took_ms, 5000);
  EXPECT_FALSE(cluster.node(0).sink.states[0].up);
}

TEST(GrpcTransportTest, CallsOfOtherServicesAreRejected) {
  TestCluster cluster(2);
  cluster.StartAll();
  grpc::GenericStub stub(grpc::CreateChannel(
      cluster.overlay(0).address(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  grpc::Slice nothing;
  grpc::ByteBuffer request(&nothing, 1);
  grpc::ByteBuffer response;
  std::optional<grpc::Status> status;
  stub.UnaryCall(&context, "/grpc.health.v1.Health/Check", {}, &request,
                 &response, [&](const grpc::Status& s) {
                   cluster.loop().Post([&status, s] { status = s; });
                 });
  ASSERT_TRUE(cluster.WaitFor([&] { return status.has_value(); }));
  EXPECT_EQ(status->error_code(), grpc::StatusCode::UNIMPLEMENTED);
}

// Answers each frame and records what arrives.
class Answerer : public StreamListener {
 public:
  void OnFrame(Bytes frame) override {
    frames.emplace_back(frame.view());
    if (stream->Writable()) stream->Write({Bytes(std::string("answer"))});
  }
  void OnWritable() override {}
  void OnEnd(const StreamEnd& end) override { ended = end; }

  std::shared_ptr<Stream> stream;
  std::vector<std::string> frames;
  std::optional<StreamEnd> ended;
};

GrpcTransport::Options Plaintext() {
  GrpcTransport::Options options;
  options.security.mode = security::SecurityMode::kPlaintext;
  return options;
}

// An agent was stalled while its peer declared it lost. When it runs again, it
// finds everything at once: frames, and the end of the stream, which coincides
// with its own next frame.
TEST(GrpcTransportTest, AnAgentThatWasStalledGetsTheEndOfItsStream) {
  EventLoop here, there;
  GrpcTransport listening(&there, Plaintext());
  std::shared_ptr<Stream> accepted;
  ASSERT_TRUE(listening
                  .Listen("127.0.0.1:0",
                          [&](std::shared_ptr<Stream> s) { accepted = s; })
                  .ok());
  GrpcTransport dialling(&here, Plaintext());
  ASSERT_TRUE(
      dialling.Listen("127.0.0.1:0", [](std::shared_ptr<Stream>) {}).ok());
  Answerer still;
  still.stream = dialling.Dial("127.0.0.1:" + std::to_string(listening.port()));
  still.stream->Attach(&still);
  still.stream->Write({Bytes(std::string("hello"))});
  while (accepted == nullptr) {
    here.RunOnce(0);
    there.RunOnce(0);
  }
  constexpr size_t kFrames = 1000;  // more than one round reads
  for (size_t i = 0; i < kFrames; ++i) {
    while (!accepted->Writable()) there.RunOnce(1);
    accepted->Write({Bytes(std::to_string(i))});
  }
  accepted->Close({kEndExpelled, "gone"});
  while (accepted.use_count() > 1) there.RunOnce(1);
  while (!still.ended.has_value()) here.RunOnce(-1);
  EXPECT_EQ(still.ended->code, kEndExpelled);
  EXPECT_EQ(still.frames.size(), kFrames);
}

// A call whose caller has not authenticated itself does not keep a connection
// open.
TEST(GrpcTransportTest, APeerThatDoesNotAuthenticateLosesItsConnection) {
  EventLoop here, there;
  const auto run = [&] {
    here.RunOnce(1);
    there.RunOnce(1);
  };
  GrpcTransport::Options options = Plaintext();
  options.silence = options.detect = absl::Milliseconds(300);
  GrpcTransport listening(&there, options);
  std::vector<std::shared_ptr<Stream>> accepted;
  ASSERT_TRUE(listening
                  .Listen("127.0.0.1:0",
                          [&](std::shared_ptr<Stream> s) {
                            accepted.push_back(std::move(s));
                          })
                  .ok());
  GrpcTransport dialling(&here, Plaintext());
  ASSERT_TRUE(
      dialling.Listen("127.0.0.1:0", [](std::shared_ptr<Stream>) {}).ok());
  Answerer peers[2];
  for (size_t i = 0; i < 2; ++i) {
    peers[i].stream =
        dialling.Dial("127.0.0.1:" + std::to_string(listening.port()));
    peers[i].stream->Attach(&peers[i]);
    peers[i].stream->Write({Bytes(std::string("hello"))});
    while (accepted.size() <= i) run();
  }
  accepted[0]->SetProved();
  while (!peers[1].ended.has_value()) run();
  EXPECT_EQ(peers[1].ended->code, kEndUnavailable);
  EXPECT_FALSE(peers[0].ended.has_value());
}

TEST(GrpcTransportTest, DialBeforeListenFails) {
  EventLoop loop;
  GrpcTransport transport(&loop, Plaintext());
  class Listener : public StreamListener {
   public:
    void OnFrame(Bytes) override {}
    void OnWritable() override {}
    void OnEnd(const StreamEnd& end) override { code = end.code; }
    int code = kEndOk;
  } listener;
  const auto stream = transport.Dial("127.0.0.1:1");
  stream->Attach(&listener);
  while (listener.code == kEndOk) loop.RunOnce(-1);
  EXPECT_EQ(listener.code, kEndUnavailable);
}

TEST(GrpcTransportTest, PlaintextToRemoteAddressesIsRejected) {
  TestCluster cluster(2);
  cluster.Start(0);
  cluster.Start(1);
  cluster.overlay(1).SetAddress(0, "192.0.2.1:7");
  cluster.overlay(1).Join();
  auto& link_errors = cluster.node(1).link_errors;
  ASSERT_TRUE(cluster.WaitFor([&] { return !link_errors.empty(); }));
  EXPECT_NE(link_errors[0].second.message().find("plaintext on 192.0.2.1:7"),
            std::string::npos);
}

}  // namespace
}  // namespace canopy::overlay
