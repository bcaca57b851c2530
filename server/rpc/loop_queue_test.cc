#include "server/rpc/loop_queue.h"

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
#include <thread>
#include <utility>

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

class LoopQueueTest : public ::testing::Test {
 protected:
  LoopQueueTest() {
    PrepareGrpc();
    queue_ = std::make_unique<grpc::CompletionQueue>();
    // A queue with nothing under way counts as shut down.
    pending_ = std::make_unique<grpc::Alarm>();
    pending_->Set(queue_.get(), gpr_inf_future(GPR_CLOCK_MONOTONIC), &never_);
  }
  ~LoopQueueTest() override {
    attached_.Detach();
    pending_->Cancel();
    queue_->Shutdown();
    ServeToEnd(queue_.get());
  }

  EventLoop loop_;
  LoopQueue attached_{&loop_};
  std::unique_ptr<grpc::CompletionQueue> queue_;
  Tag never_;
  std::unique_ptr<grpc::Alarm> pending_;
};

TEST_F(LoopQueueTest, CompletesInTheLoop) {
  ASSERT_TRUE(attached_.Attach(queue_.get()).ok());
  Tag tag;
  grpc::Alarm alarm;
  alarm.Set(queue_.get(), Past(), &tag);
  while (tag.completed == 0) loop_.RunOnce(-1);
  EXPECT_EQ(tag.completed, 1);
  EXPECT_EQ(never_.completed, 0);
}

TEST_F(LoopQueueTest, WhatAnotherThreadCompletesWakesTheLoop) {
  ASSERT_TRUE(attached_.Attach(queue_.get()).ok());
  for (int i = 0; i < 200; ++i) {
    Tag tag;
    grpc::Alarm alarm;
    std::thread other([&] { alarm.Set(queue_.get(), Past(), &tag); });
    while (tag.completed == 0) loop_.RunOnce(-1);
    other.join();
  }
}

TEST_F(LoopQueueTest, WhatIsPostedWakesTheLoop) {
  ASSERT_TRUE(attached_.Attach(queue_.get()).ok());
  for (int i = 0; i < 200; ++i) {
    bool ran = false;
    std::thread other([&] { loop_.Post([&] { ran = true; }); });
    while (!ran) loop_.RunOnce(-1);
    other.join();
  }
}

TEST_F(LoopQueueTest, DescriptorsAndTimersGoOn) {
  ASSERT_TRUE(attached_.Attach(queue_.get()).ok());
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

TEST_F(LoopQueueTest, NeitherSideStarvesTheOther) {
  ASSERT_TRUE(attached_.Attach(queue_.get()).ok());
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  ASSERT_EQ(write(fds[1], "x", 1), 1);
  int readable = 0;
  // Never read: ready in each round.
  loop_.Watch(fds[0], EPOLLIN, [&](uint32_t) { ++readable; });
  grpc::Alarm alarm;
  std::unique_ptr<Tag> tag;
  // Begins anew whenever it is complete.
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
  EXPECT_LE(readable, 2000);
  loop_.Unwatch(fds[0]);
  close(fds[0]);
  close(fds[1]);
}

TEST_F(LoopQueueTest, AfterDetachTheLoopIsItsOwn) {
  ASSERT_TRUE(attached_.Attach(queue_.get()).ok());
  attached_.Detach();
  Tag tag;
  grpc::Alarm alarm;
  alarm.Set(queue_.get(), Past(), &tag);
  loop_.RunOnce(0);
  EXPECT_EQ(tag.completed, 0);
  ASSERT_TRUE(attached_.Attach(queue_.get()).ok());
  while (tag.completed == 0) loop_.RunOnce(-1);
}

// A call whose both ends are served by one thread and two loops.
TEST(LoopQueueCallTest, BothEndsInOneThread) {
  PrepareGrpc();
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

  EventLoop server_loop;
  EventLoop client_loop;
  LoopQueue at_server(&server_loop);
  LoopQueue at_client(&client_loop);
  ASSERT_TRUE(at_server.Attach(server_queue.get()).ok());
  ASSERT_TRUE(at_client.Attach(&client_queue).ok());
  while (answered.completed == 0 || finished.completed == 0) {
    server_loop.RunOnce(1);
    client_loop.RunOnce(1);
  }
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ABORTED);

  at_server.Detach();
  at_client.Detach();
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

}  // namespace
}  // namespace canopy::rpc
