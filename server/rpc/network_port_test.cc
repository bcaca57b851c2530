#include "server/rpc/network_port.h"

#include <arpa/inet.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/posix/unique_fd.h"

namespace canopy::rpc {
namespace {

constexpr int64_t kSecondNs = 1000000000;

// A server that rejects all calls, at a free port.
class NetworkPortTest : public ::testing::Test {
 protected:
  NetworkPortTest() {
    NetworkPort::Options options;
    options.log = [this](const std::string& line) { log_.push_back(line); };
    options.limits.timeout_ns = kSecondNs / 2;
    port_.emplace(&loop_, std::move(options));
    EXPECT_TRUE(port_->Listen("127.0.0.1:0").ok());
    grpc::ServerBuilder builder;
    port_->AddWithCallsTo(&builder, grpc::InsecureServerCredentials());
    builder.RegisterCallbackGenericService(&refusal_);
    server_ = builder.BuildAndStart();
    port_->Open();
  }
  ~NetworkPortTest() override {
    port_->Close();
    server_->Shutdown();
    server_->Wait();
  }

  std::string Address() const {
    return "127.0.0.1:" + std::to_string(port_->port());
  }
  bool Until(const std::function<bool()>& done) {
    const int64_t deadline = EventLoop::Now() + 30 * kSecondNs;
    while (!done() && EventLoop::Now() < deadline) loop_.RunOnce(10);
    return done();
  }
  grpc::StatusCode Call(const std::shared_ptr<grpc::Channel>& channel) {
    grpc::GenericStub stub(channel);
    grpc::ClientContext context;
    const grpc::Slice nothing;
    grpc::ByteBuffer request(&nothing, 1);
    grpc::ByteBuffer response;
    std::optional<grpc::Status> status;
    stub.UnaryCall(&context, "/no.Such/Method", {}, &request, &response,
                   [&](const grpc::Status& s) {
                     loop_.Post([&status, s] { status = s; });
                   });
    EXPECT_TRUE(Until([&] { return status.has_value(); }));
    return status->error_code();
  }
  UniqueFd Dial() const {
    UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in in = {};
    in.sin_family = AF_INET;
    in.sin_port = htons(static_cast<uint16_t>(port_->port()));
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&in), sizeof in),
              0);
    return fd;
  }
  // Reads the data that has arrived. Returns true at the end of the stream.
  static bool HasEnded(const UniqueFd& fd) {
    char bytes[4096];
    ssize_t n;
    do {
      n = recv(fd.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    } while (n > 0);
    return n == 0 || errno != EAGAIN;
  }

  EventLoop loop_;
  std::vector<std::string> log_;
  grpc::CallbackGenericService refusal_;
  std::optional<NetworkPort> port_;
  std::unique_ptr<grpc::Server> server_;
};

std::shared_ptr<grpc::Channel> ChannelTo(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(),
                                   arguments);
}

TEST_F(NetworkPortTest, CallsAreServedOnAcceptedConnections) {
  EXPECT_EQ(Call(ChannelTo(Address())), grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(NetworkPortTest, AConnectionWithoutACallIsClosed) {
  const auto used = ChannelTo(Address());
  EXPECT_EQ(Call(used), grpc::StatusCode::UNIMPLEMENTED);
  // One connection sends nothing; the other stops after the preface and the
  // settings.
  const UniqueFd silent = Dial();
  const UniqueFd idle = Dial();
  const std::string preface = std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") +
                              std::string("\0\0\0\4\0\0\0\0\0", 9);
  ASSERT_EQ(send(idle.get(), preface.data(), preface.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(preface.size()));
  EXPECT_TRUE(Until([&] { return HasEnded(silent) && HasEnded(idle); }));
  EXPECT_EQ(used->GetState(false), GRPC_CHANNEL_READY);
}

TEST_F(NetworkPortTest, ManySilentConnectionsDoNotPreventACall) {
  std::vector<UniqueFd> held;
  for (int i = 0; i < 200; ++i) held.push_back(Dial());
  EXPECT_EQ(Call(ChannelTo(Address())), grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(NetworkPortTest, AnAddressInUseIsAnError) {
  NetworkPort other(&loop_, {});
  EXPECT_EQ(other.Listen(Address()).code(), kErrUnreach);
}

}  // namespace
}  // namespace canopy::rpc
