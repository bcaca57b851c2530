#include "server/endpoint/input_queue.h"

#include <gtest/gtest.h>

#include <variant>
#include <vector>

#include "server/ports/fake_sink.h"

namespace canopy::endpoint {
namespace {

class InputQueueTest : public ::testing::Test {
 protected:
  void Raise(core::ClientId client) {
    queue_.OnInput(core::ClientGone{client});
  }
  std::vector<core::ClientId> Passed() const {
    std::vector<core::ClientId> clients;
    for (const auto& gone : sink_.All<core::ClientGone>()) {
      clients.push_back(gone.client);
    }
    return clients;
  }

  FakeSink sink_;
  InputQueue queue_{&sink_};
};

using Clients = std::vector<core::ClientId>;

TEST_F(InputQueueTest, WithoutAHoldInputsArePassedOnAtOnce) {
  Raise(1);
  EXPECT_EQ(Passed(), Clients{1});
}

TEST_F(InputQueueTest, TheLastHoldToEndPassesThemOnInOrder) {
  {
    const InputQueue::Hold outer(&queue_);
    {
      const InputQueue::Hold inner(&queue_);
      Raise(1);
    }
    Raise(2);
    EXPECT_TRUE(Passed().empty());
  }
  EXPECT_EQ(Passed(), (Clients{1, 2}));
}

TEST_F(InputQueueTest, WhatAPortCallRaisesPrecedesTheInputItIsPartOf) {
  bool raised = false;
  sink_.on_input = [&](const core::Input&) {
    if (!raised) {
      raised = true;
      Raise(9);
    }
  };
  {
    const InputQueue::Hold hold(&queue_);
    Raise(1);
    Raise(2);
  }
  EXPECT_EQ(Passed(), (Clients{9, 1, 2}));
}

TEST_F(InputQueueTest, WhatAPortCallHoldsIsPassedOnAfterThoseThatWait) {
  bool raised = false;
  sink_.on_input = [&](const core::Input&) {
    if (raised) return;
    raised = true;
    const InputQueue::Hold hold(&queue_);
    Raise(9);
  };
  {
    const InputQueue::Hold hold(&queue_);
    Raise(1);
    Raise(2);
  }
  EXPECT_EQ(Passed(), (Clients{1, 2, 9}));
}

}  // namespace
}  // namespace canopy::endpoint
