#include "server/control/user_gateway.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "common/user_calls.h"
#include "protos/control.grpc.pb.h"
#include "server/control/caller.h"
#include "server/control/control_server.h"

namespace canopy::control {
namespace {

std::string UserOf(const grpc::CallbackServerContext& context) {
  const auto user = context.client_metadata().find(kUserMetadata);
  return user == context.client_metadata().end()
             ? ""
             : std::string(user->second.data(), user->second.size());
}

// Echoes each request of a launcher.
class Echo : public grpc::ServerBidiReactor<v1::RunRequest, v1::RunEvent> {
 public:
  Echo() { StartRead(&request_); }
  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status(grpc::StatusCode::ABORTED, "over"));
    event_.mutable_output()->set_data(request_.input().data());
    StartWrite(&event_);
  }
  void OnWriteDone(bool /*ok*/) override { StartRead(&request_); }
  void OnDone() override { delete this; }

 private:
  v1::RunRequest request_;
  v1::RunEvent event_;
};

// Answers with the user of the call.
class FakeService : public v1::Control::CallbackService {
 public:
  grpc::ServerUnaryReactor* Status(grpc::CallbackServerContext* context,
                                   const v1::StatusRequest*,
                                   v1::StatusReply* reply) override {
    reply->set_version(UserOf(*context));
    auto* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  grpc::ServerBidiReactor<v1::RunRequest, v1::RunEvent>* Run(
      grpc::CallbackServerContext*) override {
    return new Echo;
  }
};

class UserGatewayTest : public testing::Test {
 protected:
  UserGatewayTest() {
    char path[] = "/tmp/gateway-test-XXXXXX";
    directory_ = mkdtemp(path);
    const std::string own = directory_ + "/control.sock";
    path_ = UsersSocketIn(directory_);
    EXPECT_TRUE(server_->Start(own, &service_).ok());
    EXPECT_TRUE(gateway_->Start(path_, {"n1", own, {}}).ok());
    thread_ = std::thread([this] { loop_.Run(); });
    stub_ = v1::Control::NewStub(grpc::CreateChannel(
        "unix:" + path_, grpc::InsecureChannelCredentials()));
  }
  ~UserGatewayTest() override {
    loop_.Stop();
    thread_.join();
    gateway_.reset();
    server_.reset();
    rmdir(directory_.c_str());
  }

  grpc::Status Ask(const std::string& member, const std::string& user,
                   std::string* answer) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::seconds(30));
    if (!member.empty()) context.AddMetadata(kMemberMetadata, member);
    if (!user.empty()) context.AddMetadata(kUserMetadata, user);
    v1::StatusReply reply;
    const grpc::Status status = stub_->Status(&context, {}, &reply);
    *answer = reply.version();
    return status;
  }

  std::string directory_;
  std::string path_;
  EventLoop loop_;
  FakeService service_;
  std::unique_ptr<ControlServer> server_ =
      std::make_unique<ControlServer>(&loop_);
  std::unique_ptr<UserGateway> gateway_ = std::make_unique<UserGateway>(&loop_);
  std::thread thread_;
  std::unique_ptr<v1::Control::Stub> stub_;
};

TEST_F(UserGatewayTest, EveryUserMayConnect) {
  struct stat info;
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0666u);
}

TEST_F(UserGatewayTest, TheUserIsTheOneWhomTheKernelKnows) {
  const std::string self = *NameOfUser(geteuid());
  std::string user;
  EXPECT_TRUE(Ask("", "", &user).ok());
  EXPECT_EQ(user, self);
  // The metadata of the command itself is not forwarded.
  EXPECT_TRUE(Ask("n1", "somebody", &user).ok());
  EXPECT_EQ(user, self);
}

TEST_F(UserGatewayTest, AMemberThatCannotBeReachedIsAnError) {
  std::string user;
  EXPECT_EQ(Ask("n2", "", &user).error_code(), grpc::StatusCode::UNAVAILABLE);
  gateway_->SetMember("n2", "");
  EXPECT_EQ(Ask("n2", "", &user).error_code(), grpc::StatusCode::UNAVAILABLE);
  // The credentials are those of no cluster.
  gateway_->SetMember("n2", "127.0.0.1:1");
  EXPECT_EQ(Ask("n2", "", &user).error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(UserGatewayTest, CallsReachTheMemberThatTheyName) {
  gateway_->SetMember("n2", "unix:" + directory_ + "/control.sock");
  std::string user;
  EXPECT_TRUE(Ask("n2", "", &user).ok());
  EXPECT_FALSE(user.empty());
}

TEST_F(UserGatewayTest, StreamsAreForwardedInBothDirectionsToTheirEnd) {
  grpc::ClientContext context;
  auto stream = stub_->Run(&context);
  for (int i = 0; i < 100; ++i) {
    v1::RunRequest request;
    request.mutable_input()->set_data(std::string(1000 * i, 'x'));
    ASSERT_TRUE(stream->Write(request));
    v1::RunEvent event;
    ASSERT_TRUE(stream->Read(&event));
    EXPECT_EQ(event.output().data(), request.input().data());
  }
  EXPECT_TRUE(stream->WritesDone());
  v1::RunEvent event;
  EXPECT_FALSE(stream->Read(&event));
  const grpc::Status end = stream->Finish();
  EXPECT_EQ(end.error_code(), grpc::StatusCode::ABORTED);
  EXPECT_EQ(end.error_message(), "over");
}

TEST_F(UserGatewayTest, ACallEndsWithItsCommand) {
  for (int i = 0; i < 50; ++i) {
    grpc::ClientContext context;
    auto stream = stub_->Run(&context);
    v1::RunRequest request;
    request.mutable_input()->set_data("x");
    ASSERT_TRUE(stream->Write(request));
    context.TryCancel();
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  std::string user;
  EXPECT_TRUE(Ask("", "", &user).ok());
}

TEST_F(UserGatewayTest, OtherServicesAreNotForwarded) {
  grpc::GenericStub stub(
      grpc::CreateChannel("unix:" + path_, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareUnaryCall(
      &context, "/grpc.health.v1.Health/Check", grpc::ByteBuffer(), &queue);
  call->StartCall();
  grpc::ByteBuffer reply;
  grpc::Status status;
  call->Finish(&reply, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  ASSERT_TRUE(queue.Next(&tag, &ok));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNIMPLEMENTED);
}

}  // namespace
}  // namespace canopy::control
