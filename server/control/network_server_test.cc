#include "server/control/network_server.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "common/event_loop.h"

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

}  // namespace
}  // namespace canopy::control
