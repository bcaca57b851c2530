#include "server/rpc/queue_wake.h"

#include <grpc/support/time.h>
#include <grpcpp/completion_queue.h>
#include <gtest/gtest.h>

#include <thread>

#include "server/rpc/completion.h"

namespace canopy::rpc {
namespace {

using NextStatus = grpc::CompletionQueue::NextStatus;

gpr_timespec After(int seconds) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_seconds(seconds, GPR_TIMESPAN));
}

// Returns the queue's next tag, or null after a timeout.
void* Next(grpc::CompletionQueue* queue, int seconds) {
  void* tag = nullptr;
  bool ok = false;
  const NextStatus status = queue->AsyncNext(&tag, &ok, After(seconds));
  return status == NextStatus::GOT_EVENT && ok ? tag : nullptr;
}

TEST(QueueWakeTest, TheQueueReturnsEachPostOnce) {
  grpc::CompletionQueue queue;
  QueueWake wake(&queue);
  EXPECT_EQ(Next(&queue, 0), nullptr);
  for (int i = 0; i < 3; ++i) {
    wake.Post();
    EXPECT_EQ(Next(&queue, 60), static_cast<Completion*>(&wake));
    EXPECT_EQ(Next(&queue, 0), nullptr);
  }
  wake.Post();
  wake.Post();
  EXPECT_EQ(Next(&queue, 60), static_cast<Completion*>(&wake));
  EXPECT_EQ(Next(&queue, 60), static_cast<Completion*>(&wake));
  EXPECT_EQ(Next(&queue, 0), nullptr);
  queue.Shutdown();
  ServeToEnd(&queue);
}

TEST(QueueWakeTest, PostEndsTheWaitOfAnotherThread) {
  grpc::CompletionQueue queue;
  QueueWake wake(&queue);
  std::thread other([&] { wake.Post(); });
  EXPECT_EQ(Next(&queue, 60), static_cast<Completion*>(&wake));
  other.join();
  queue.Shutdown();
  ServeToEnd(&queue);
}

}  // namespace
}  // namespace canopy::rpc
