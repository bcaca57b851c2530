#include "server/control/network_server.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <fstream>
#include <future>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/event_loop.h"
#include "server/security/identity.h"
#include "server/security/peer_proof.h"

namespace canopy::control {
namespace {

// A server whose loop runs on its own thread.
class RunningServer {
 public:
  explicit RunningServer(const NetworkOptions& options)
      : server_(std::make_unique<NetworkServer>(&loop_)) {
    const Status status = server_->Start(options);
    EXPECT_TRUE(status.ok()) << status.message();
    thread_ = std::thread([this] { loop_.Run(); });
  }
  ~RunningServer() {
    loop_.Stop();
    thread_.join();
  }
  const std::string& address() const { return server_->address(); }

 private:
  EventLoop loop_;
  std::unique_ptr<NetworkServer> server_;
  std::thread thread_;
};

NetworkOptions Local(bool reflection) {
  NetworkOptions options;
  options.address = "127.0.0.1:0";
  options.security.mode = security::SecurityMode::kPlaintext;
  options.reflection = reflection;
  return options;
}

TEST(NetworkServerTest, HealthIsServed) {
  const RunningServer server(Local(false));
  grpc::GenericStub stub(grpc::CreateChannel(
      server.address(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  grpc::ByteBuffer request;
  grpc::Slice nothing;
  request = grpc::ByteBuffer(&nothing, 1);
  grpc::ByteBuffer response;
  std::promise<grpc::Status> done;
  stub.UnaryCall(&context, "/grpc.health.v1.Health/Check", {}, &request,
                 &response, [&](const grpc::Status& s) { done.set_value(s); });
  const grpc::Status status = done.get_future().get();
  ASSERT_TRUE(status.ok()) << status.error_message();
  grpc::Slice slice;
  ASSERT_TRUE(response.DumpToSingleSlice(&slice).ok());
  // The bytes of HealthCheckResponse{status: SERVING}.
  EXPECT_EQ(
      std::string(reinterpret_cast<const char*>(slice.begin()), slice.size()),
      std::string("\x08\x01"));
}

// Returns the result of a call of ServerReflectionInfo{list_services}.
std::pair<grpc::Status, std::string> ListServices(const std::string& address) {
  grpc::GenericStub stub(
      grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  auto call = stub.PrepareCall(
      &context,
      "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", &queue);
  const auto next = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  call->StartCall(nullptr);
  next();
  const grpc::Slice request(std::string("\x3a\x01*"));
  call->WriteLast(grpc::ByteBuffer(&request, 1), {}, nullptr);
  next();
  grpc::ByteBuffer response;
  call->Read(&response, nullptr);
  std::string text;
  grpc::Slice slice;
  if (next() && response.DumpToSingleSlice(&slice).ok()) {
    text.assign(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  grpc::Status status;
  call->Finish(&status, nullptr);
  next();
  return {status, text};
}

TEST(NetworkServerTest, ReflectionIsOffByDefault) {
  const RunningServer server(Local(false));
  const auto [status, text] = ListServices(server.address());
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(text, "");
}

TEST(NetworkServerTest, ReflectionListsTheServices) {
  const RunningServer server(Local(true));
  const auto [status, text] = ListServices(server.address());
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_NE(text.find("grpc.health.v1.Health"), std::string::npos) << text;
}

TEST(NetworkServerTest, AnAddressInUseIsAnError) {
  EventLoop loop;
  NetworkServer first(&loop);
  ASSERT_TRUE(first.Start(Local(false)).ok());
  NetworkOptions same = Local(false);
  same.address = first.address();
  NetworkServer second(&loop);
  EXPECT_EQ(second.Start(same).code(), kErrUnreach);
}

// ------------------------------------------- certificates of an authority ---

security::ClusterKey Key(char digit) {
  return *security::ClusterKey::FromHex(std::string(64, digit));
}

std::string Write(const std::string& name, const std::string& text) {
  std::string path = testing::TempDir() + "network_server_" + name;
  std::ofstream(path) << text;
  return path;
}

// Writes the files of an agent or caller. One authority has issued the
// certificates of all of them. `key` is the digit of the cluster key.
security::SecurityConfig Files(const std::string& owner, char key) {
  const auto identity = security::DeriveIdentity(Key('1'));
  security::SecurityConfig config;
  config.mode = security::SecurityMode::kFiles;
  config.key = Key(key);
  config.ca_path = Write(owner + "-ca.pem", identity->root_pem);
  config.certificate_path = Write(owner + ".pem", identity->certificate_pem);
  config.private_key_path = Write(owner + ".key", identity->private_key_pem);
  config.server_name = security::kDerivedServerName;
  return config;
}

class CallersTest : public testing::Test {
 protected:
  void Start(const std::vector<std::string>& names) {
    NetworkOptions options = Local(true);
    options.security = Files("agent", '2');
    options.security.caller_names = names;
    options.log = [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      lines_.push_back(line);
    };
    server_ = std::make_unique<RunningServer>(options);
  }

  // Calls a method that the server does not have. The result is UNIMPLEMENTED
  // if the server accepts the caller.
  grpc::Status Call(const security::SecurityConfig& caller,
                    const std::string& method = "/canopy.Any/Thing") {
    const std::string& address = server_->address();
    auto credentials = security::MakeCallerCredentials(caller, address);
    EXPECT_TRUE(credentials.ok()) << credentials.status().message();
    grpc::ChannelArguments args;
    args.SetSslTargetNameOverride(security::kDerivedServerName);
    grpc::GenericStub stub(
        grpc::CreateCustomChannel(address, *credentials, args));
    grpc::ClientContext context;
    if (!extra_token_.empty()) {
      context.AddMetadata("authorization", "Bearer " + extra_token_);
    }
    const grpc::Slice nothing;
    const grpc::ByteBuffer request(&nothing, 1);
    grpc::ByteBuffer response;
    std::promise<grpc::Status> done;
    stub.UnaryCall(&context, method, {}, &request, &response,
                   [&](const grpc::Status& s) { done.set_value(s); });
    return done.get_future().get();
  }

  std::vector<std::string> Lines() {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

  std::string extra_token_;

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
  std::unique_ptr<RunningServer> server_;
};

TEST_F(CallersTest, ACallerThatProvesTheKeyIsAccepted) {
  Start({});
  EXPECT_EQ(Call(Files("member", '2')).error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(CallersTest, ACertificateWithoutAProofIsRefusedAndLoggedOnce) {
  Start({});
  security::SecurityConfig printer = Files("printer", '2');
  printer.key.reset();
  for (int i = 0; i < 3; ++i) {
    const grpc::Status status = Call(printer);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED);
    EXPECT_NE(status.error_message().find(security::kDerivedServerName),
              std::string::npos)
        << status.error_message();
  }
  while (Lines().empty()) std::this_thread::yield();
  EXPECT_EQ(Lines().size(), 1u);
  EXPECT_NE(Lines()[0].find(security::kDerivedServerName), std::string::npos);
}

TEST_F(CallersTest, AProofWithAnotherKeyIsRefused) {
  Start({});
  EXPECT_EQ(Call(Files("other", '3')).error_code(),
            grpc::StatusCode::UNAUTHENTICATED);
}

TEST_F(CallersTest, AProofIsRefusedWithAnotherCertificate) {
  Start({});
  const security::SecurityConfig member = Files("member", '2');
  std::stringstream pem;
  pem << std::ifstream(member.certificate_path).rdbuf();
  security::SecurityConfig thief = Files("thief", '2');
  thief.key.reset();
  extra_token_ = *security::CertificateProof(Key('2'), pem.str());
  EXPECT_EQ(Call(thief).error_code(), grpc::StatusCode::UNAUTHENTICATED);
}

TEST_F(CallersTest, ACallerWithAnAcceptedNameNeedsNoProof) {
  Start({"elsewhere.example", security::kDerivedServerName});
  security::SecurityConfig named = Files("named", '2');
  named.key.reset();
  EXPECT_EQ(Call(named).error_code(), grpc::StatusCode::UNIMPLEMENTED);
}

TEST_F(CallersTest, HealthIsServedToEveryCertificate) {
  Start({});
  security::SecurityConfig printer = Files("printer", '2');
  printer.key.reset();
  EXPECT_TRUE(Call(printer, "/grpc.health.v1.Health/Check").ok());
}

}  // namespace
}  // namespace canopy::control
