#include "server/control/run_stream.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace canopy::control {
namespace {

class FakeOwner : public LauncherListener {
 public:
  explicit FakeOwner(EventLoop* loop) : loop_(loop) {}
  uint64_t NewLauncher() override { return 1; }
  void OnLauncher(uint64_t, LauncherStream*, const Caller&) override {}
  void OnRequest(uint64_t, v1::RunRequest request) override {
    requests.push_back(std::move(request));
    if (on_request) on_request();
  }
  void OnGone(uint64_t) override { loop_->Stop(); }

  std::vector<v1::RunRequest> requests;
  std::function<void()> on_request;

 private:
  EventLoop* const loop_;
};

class FakeService : public v1::Control::CallbackService {
 public:
  FakeService(EventLoop* loop, FakeOwner* owner) : loop_(loop), owner_(owner) {}
  grpc::ServerBidiReactor<v1::RunRequest, v1::RunEvent>* Run(
      grpc::CallbackServerContext*) override {
    auto* made = new RunStream(1, loop_, owner_);
    loop_->Post([this, made] {
      stream = made;
      made->Begin();
    });
    return made;
  }

  RunStream* stream = nullptr;  // loop thread

 private:
  EventLoop* const loop_;
  FakeOwner* const owner_;
};

class RunStreamTest : public testing::Test {
 protected:
  RunStreamTest() : owner_(&loop_), service_(&loop_, &owner_) {
    grpc::ServerBuilder builder;
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    stub_ = v1::Control::NewStub(server_->InProcessChannel({}));
  }

  // Runs the loop until the stream is gone, while `caller` uses its call on
  // another thread.
  template <typename Caller>
  void WithCall(Caller caller) {
    std::thread thread([&] {
      grpc::ClientContext context;
      auto call = stub_->Run(&context);
      caller(call.get(), &context);
    });
    loop_.Run();
    thread.join();
  }

  using Call = grpc::ClientReaderWriterInterface<v1::RunRequest, v1::RunEvent>;

  EventLoop loop_;
  FakeOwner owner_;
  FakeService service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::Control::Stub> stub_;
};

TEST_F(RunStreamTest, ARequestMayContainAnyBytes) {
  owner_.on_request = [this] { service_.stream->FinishWhenWritten(); };
  WithCall([](Call* call, grpc::ClientContext*) {
    v1::RunRequest request;
    request.mutable_launch()->set_request("\xff\x80");
    EXPECT_TRUE(call->Write(request));
    EXPECT_TRUE(call->Finish().ok());
  });
  ASSERT_EQ(owner_.requests.size(), 1u);
  EXPECT_EQ(owner_.requests[0].launch().request(), "\xff\x80");
}

TEST_F(RunStreamTest, AnInvalidRequestEndsTheCall) {
  WithCall([](Call* call, grpc::ClientContext*) {
    v1::RunRequest request;
    request.mutable_launch()->set_queued_as("\xff");
    EXPECT_TRUE(call->Write(request));
    EXPECT_EQ(call->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  });
  EXPECT_TRUE(owner_.requests.empty());
}

TEST_F(RunStreamTest, EventsArriveBeforeTheEnd) {
  owner_.on_request = [this] {
    for (uint64_t i = 0; i < 100; ++i) {
      v1::RunEvent event;
      event.set_input_consumed(i);
      service_.stream->Send(std::move(event));
    }
    service_.stream->FinishWhenWritten();
  };
  WithCall([](Call* call, grpc::ClientContext*) {
    EXPECT_TRUE(call->Write({}));
    v1::RunEvent event;
    for (uint64_t i = 0; i < 100; ++i) {
      EXPECT_TRUE(call->Read(&event));
      EXPECT_EQ(event.input_consumed(), i);
    }
    EXPECT_FALSE(call->Read(&event));
    EXPECT_TRUE(call->Finish().ok());
  });
}

TEST_F(RunStreamTest, ALostLauncherIsReported) {
  owner_.on_request = [] {};
  WithCall([](Call* call, grpc::ClientContext* context) {
    EXPECT_TRUE(call->Write({}));
    context->TryCancel();
    EXPECT_EQ(call->Finish().error_code(), grpc::StatusCode::CANCELLED);
  });
}

}  // namespace
}  // namespace canopy::control
