#include "server/scheduler/service_client.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "common/event_loop.h"
#include "common/posix/unique_fd.h"
#include "common/status.h"
#include "protos/canopy/hostmodule/v1/host_module.grpc.pb.h"
#include "server/security/cluster_key.h"
#include "server/security/identity.h"

namespace canopy::scheduler {
namespace {

class Service : public v1::HostModuleService::Service {
 public:
  grpc::Status GetCapabilities(grpc::ServerContext* context,
                               const v1::GetCapabilitiesRequest*,
                               v1::GetCapabilitiesResponse* reply) override {
    const auto& metadata = context->client_metadata();
    const auto found = metadata.find("authorization");
    authorization = found == metadata.end() ? ""
                                            : std::string(found->second.begin(),
                                                          found->second.end());
    reply->set_name("there");
    return grpc::Status::OK;
  }

  std::string authorization;  // of the last call
};

// The server listens on all addresses, so its address is not local.
class ServiceClientTest : public testing::Test {
 protected:
  static constexpr char kAnywhere[] = "0.0.0.0:";

  static security::SecurityConfig WithKey(char digit) {
    security::SecurityConfig config;
    config.key = *security::ClusterKey::FromHex(std::string(64, digit));
    return config;
  }
  static security::SecurityConfig Plaintext(bool anywhere) {
    security::SecurityConfig config;
    config.mode = security::SecurityMode::kPlaintext;
    config.plaintext_anywhere = anywhere;
    return config;
  }
  void Serve(const std::shared_ptr<grpc::ServerCredentials>& credentials) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(std::string(kAnywhere) + "0", credentials, &port_);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }
  void Serve(const security::SecurityConfig& config) {
    auto credentials =
        security::MakeServerCredentials(config, std::string(kAnywhere) + "0");
    ASSERT_TRUE(credentials.ok()) << credentials.status().message();
    Serve(*credentials);
  }
  std::string Address() const { return kAnywhere + std::to_string(port_); }

  // Serves with the files that 'canopy host-module certificate' creates for the
  // key.
  void ServeAsScheduler(char digit) {
    const auto identity =
        security::DeriveSchedulerIdentity(*WithKey(digit).key);
    ASSERT_TRUE(identity.ok());
    grpc::SslServerCredentialsOptions options(
        GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    options.pem_root_certs = identity->root_pem;
    options.pem_key_cert_pairs.push_back(
        {identity->private_key_pem, identity->certificate_pem});
    Serve(grpc::SslServerCredentials(options));
  }
  // Returns the result of a client's call to the server.
  CallEnd Ask(const security::SecurityConfig& config) {
    auto client = ServiceClient::Make(&loop_, Address(), config, "secret");
    EXPECT_TRUE(client.ok());
    std::optional<CallEnd> heard;
    (*client)->Send(v1::GetCapabilitiesRequest(), kDeadlineMs,
                    [&](const CallEnd& end, const auto& reply) {
                      heard = end;
                      if (end.ok()) {
                        EXPECT_EQ(reply.name(), "there");
                      }
                    });
    const int64_t deadline = EventLoop::Now() + int64_t{60} * 1000000000;
    while (!heard && EventLoop::Now() < deadline) loop_.RunOnce(10);
    return heard.value_or(CallEnd{-1, "nothing"});
  }
  void IsRefused(const CallEnd& end, std::string_view word) {
    EXPECT_TRUE(end.gone()) << end.code << " " << end.message;
    EXPECT_NE(end.message.find(word), std::string::npos) << end.message;
  }

  static constexpr int64_t kDeadlineMs = 30'000;

  EventLoop loop_;
  Service service_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(ServiceClientTest, AServerWithACertificateOfTheKeyIsAccepted) {
  ServeAsScheduler('1');
  const CallEnd end = Ask(WithKey('1'));
  EXPECT_TRUE(end.ok()) << end.message;
  EXPECT_EQ(service_.authorization, "Bearer secret");
}

TEST_F(ServiceClientTest, AServerWithAnAgentsCertificateIsRejected) {
  Serve(WithKey('1'));
  IsRefused(Ask(WithKey('1')), "the overlay's cluster key");
}

TEST_F(ServiceClientTest, AServerWithAnotherKeyIsRejected) {
  ServeAsScheduler('2');
  const CallEnd end = Ask(WithKey('1'));
  IsRefused(end, "the overlay's cluster key");
}

// The server expects calls without TLS.
TEST_F(ServiceClientTest, AServerWithoutTlsIsRejected) {
  Serve(grpc::InsecureServerCredentials());
  IsRefused(Ask(WithKey('1')), "it is called by TLS");
}

TEST_F(ServiceClientTest, PlaintextIsRefusedUnlessAllowed) {
  Serve(grpc::InsecureServerCredentials());
  const auto refused = ServiceClient::Make(&loop_, Address(), Plaintext(false));
  EXPECT_EQ(refused.status().code(), kErrNoPermissions);
  EXPECT_NE(refused.status().message().find("is refused"), std::string::npos);
  EXPECT_TRUE(Ask(Plaintext(true)).ok());
  EXPECT_EQ(service_.authorization, "") << "others could read it";
}

TEST_F(ServiceClientTest, AServerWithTlsRejectsPlaintextCalls) {
  Serve(WithKey('1'));
  IsRefused(Ask(Plaintext(true)), "--security plaintext");
}

TEST_F(ServiceClientTest, MissingCertificatesAreReported) {
  security::SecurityConfig config;
  config.mode = security::SecurityMode::kFiles;
  config.ca_path = "/no/such/ca";
  const auto refused = ServiceClient::Make(&loop_, Address(), config);
  EXPECT_NE(refused.status().message().find("/no/such/ca"), std::string::npos);
}

// A listener without TLS receives the beginning of the handshake, and no data
// of the call.
TEST_F(ServiceClientTest, NothingIsSentInPlaintext) {
  const UniqueFd listener(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  socklen_t size = sizeof address;
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(bind(listener.get(), plain, size), 0);
  ASSERT_EQ(listen(listener.get(), 8), 0);
  ASSERT_EQ(getsockname(listener.get(), plain, &size), 0);
  port_ = ntohs(address.sin_port);
  std::string seen;
  std::thread reader([&] {
    const UniqueFd peer(accept(listener.get(), nullptr, nullptr));
    char bytes[4096];
    const ssize_t n = recv(peer.get(), bytes, sizeof bytes, 0);
    if (n > 0) seen.assign(bytes, static_cast<size_t>(n));
  });
  EXPECT_FALSE(Ask(WithKey('1')).ok());
  reader.join();
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen[0], 0x16) << "a handshake record";
  EXPECT_EQ(seen.find("hostmodule"), std::string::npos);
}

}  // namespace
}  // namespace canopy::scheduler
