#include "server/rpc/loop_driver.h"

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "server/rpc/completion.h"
#include "server/rpc/driver_choice.h"

namespace canopy::rpc {
namespace {

class Tag : public Completion {
 public:
  explicit Tag(std::function<void(bool)> done = {}) : done_(std::move(done)) {}
  void Complete(bool ok) override {
    ++completed;
    if (done_) done_(ok);
  }
  int completed = 0;

 private:
  const std::function<void(bool)> done_;
};

gpr_timespec Past() { return gpr_inf_past(GPR_CLOCK_MONOTONIC); }

class LoopDriverTest : public ::testing::TestWithParam<DriverKind> {
 protected:
  LoopDriverTest() {
    queue_ = std::make_unique<grpc::CompletionQueue>();
    // A queue without pending operations counts as shut down.
    pending_ = std::make_unique<grpc::Alarm>();
    pending_->Set(queue_.get(), gpr_inf_future(GPR_CLOCK_MONOTONIC), &never_);
  }
  ~LoopDriverTest() override {
    attached_->Detach();
    pending_->Cancel();
    queue_->Shutdown();
    ServeToEnd(queue_.get());
  }

  EventLoop loop_;
  std::unique_ptr<LoopDriver> attached_ = MakeDriver(&loop_, GetParam());
  std::unique_ptr<grpc::CompletionQueue> queue_;
  Tag never_;
  std::unique_ptr<grpc::Alarm> pending_;
};

TEST_P(LoopDriverTest, CompletionsAreDeliveredInTheLoop) {
  ASSERT_TRUE(attached_->Attach(queue_.get()).ok());
  Tag tag;
  grpc::Alarm alarm;
  alarm.Set(queue_.get(), Past(), &tag);
  while (tag.completed == 0) loop_.RunOnce(-1);
  EXPECT_EQ(tag.completed, 1);
  EXPECT_EQ(never_.completed, 0);
}

TEST_P(LoopDriverTest, ACompletionOfAnotherThreadWakesTheLoop) {
  ASSERT_TRUE(attached_->Attach(queue_.get()).ok());
  for (int i = 0; i < 200; ++i) {
    Tag tag;
    grpc::Alarm alarm;
    std::thread other([&] { alarm.Set(queue_.get(), Past(), &tag); });
    while (tag.completed == 0) loop_.RunOnce(-1);
    other.join();
  }
}

TEST_P(LoopDriverTest, PostedWorkWakesTheLoop) {
  ASSERT_TRUE(attached_->Attach(queue_.get()).ok());
  for (int i = 0; i < 200; ++i) {
    bool ran = false;
    std::thread other([&] { loop_.Post([&] { ran = true; }); });
    while (!ran) loop_.RunOnce(-1);
    other.join();
  }
}

TEST_P(LoopDriverTest, DescriptorsAndTimersAreServedWhileAttached) {
  ASSERT_TRUE(attached_->Attach(queue_.get()).ok());
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  bool readable = false;
  loop_.Watch(fds[0], EPOLLIN, [&](uint32_t) {
    readable = true;
    loop_.Unwatch(fds[0]);
  });
  bool rang = false;
  loop_.AddTimer(1000000, [&] {
    rang = true;
    EXPECT_EQ(write(fds[1], "x", 1), 1);
  });
  while (!readable) loop_.RunOnce(-1);
  EXPECT_TRUE(rang);
  close(fds[0]);
  close(fds[1]);
}

TEST_P(LoopDriverTest, CompletionsAndDescriptorsDoNotStarveEachOther) {
  ASSERT_TRUE(attached_->Attach(queue_.get()).ok());
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  ASSERT_EQ(write(fds[1], "x", 1), 1);
  int readable = 0;
  // The data is never read, so the descriptor is ready in each round.
  loop_.Watch(fds[0], EPOLLIN, [&](uint32_t) { ++readable; });
  grpc::Alarm alarm;
  std::unique_ptr<Tag> tag;
  // The alarm starts again whenever it completes.
  int completed = 0;
  tag = std::make_unique<Tag>([&](bool) {
    if (++completed < 1000) alarm.Set(queue_.get(), Past(), tag.get());
  });
  alarm.Set(queue_.get(), Past(), tag.get());
  while (completed < 1000) {
    const int before = readable;
    loop_.RunOnce(-1);
    EXPECT_GE(readable, before);
  }
  EXPECT_GE(readable, 3);
  // A loop that drives the queue itself does not wait for a thread.
  if (GetParam() == DriverKind::kInLoop) {
    EXPECT_LE(readable, 2000);
  }
  loop_.Unwatch(fds[0]);
  close(fds[0]);
  close(fds[1]);
}

TEST_P(LoopDriverTest, CompletionsOfADetachedQueueAreNotDelivered) {
  ASSERT_TRUE(attached_->Attach(queue_.get()).ok());
  attached_->Detach();
  Tag tag;
  grpc::Alarm alarm;
  alarm.Set(queue_.get(), Past(), &tag);
  loop_.RunOnce(0);
  EXPECT_EQ(tag.completed, 0);
  ASSERT_TRUE(attached_->Attach(queue_.get()).ok());
  while (tag.completed == 0) loop_.RunOnce(-1);
}

// A call whose two ends are served by one thread and two loops.
class LoopDriverCallTest : public ::testing::TestWithParam<DriverKind> {
 protected:
  EventLoop server_loop_;
  EventLoop client_loop_;
  // Created before any other use of gRPC.
  std::unique_ptr<LoopDriver> at_server_ =
      MakeDriver(&server_loop_, GetParam());
  std::unique_ptr<LoopDriver> at_client_ =
      MakeDriver(&client_loop_, GetParam());
};

TEST_P(LoopDriverCallTest, BothEndsOfACallAreServedInOneThread) {
  grpc::AsyncGenericService service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                           &port);
  builder.RegisterAsyncGenericService(&service);
  const auto server_queue = builder.AddCompletionQueue();
  const auto server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);

  grpc::GenericServerContext context;
  grpc::GenericServerAsyncReaderWriter io(&context);
  Tag finished;
  Tag arrived([&](bool ok) {
    if (ok) io.Finish(grpc::Status(grpc::StatusCode::ABORTED, "so"), &finished);
  });
  service.RequestCall(&context, &io, server_queue.get(), server_queue.get(),
                      &arrived);
  grpc::CompletionQueue client_queue;
  grpc::GenericStub stub(grpc::CreateChannel(
      "127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
  grpc::ClientContext call_context;
  grpc::Slice nothing;
  auto call = stub.PrepareUnaryCall(
      &call_context, "/a.B/C", grpc::ByteBuffer(&nothing, 1), &client_queue);
  grpc::ByteBuffer response;
  grpc::Status status;
  Tag answered;
  call->StartCall();
  call->Finish(&response, &status, &answered);

  ASSERT_TRUE(at_server_->Attach(server_queue.get()).ok());
  ASSERT_TRUE(at_client_->Attach(&client_queue).ok());
  while (answered.completed == 0 || finished.completed == 0) {
    server_loop_.RunOnce(1);
    client_loop_.RunOnce(1);
  }
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ABORTED);

  at_server_->Detach();
  at_client_->Detach();
  call.reset();
  std::thread ender([&] {
    server->Shutdown(std::chrono::system_clock::now());
    server_queue->Shutdown();
  });
  ServeToEnd(server_queue.get());
  ender.join();
  client_queue.Shutdown();
  ServeToEnd(&client_queue);
}

std::string NameOf(const ::testing::TestParamInfo<DriverKind>& info) {
  return info.param == DriverKind::kInLoop ? "InLoop" : "Thread";
}
constexpr DriverKind kBoth[] = {DriverKind::kInLoop, DriverKind::kThread};
INSTANTIATE_TEST_SUITE_P(Both, LoopDriverTest, ::testing::ValuesIn(kBoth),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Both, LoopDriverCallTest, ::testing::ValuesIn(kBoth),
                         NameOf);

}  // namespace
}  // namespace canopy::rpc
