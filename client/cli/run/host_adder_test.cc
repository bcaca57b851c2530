#include "client/cli/run/host_adder.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "common/mutex.h"
#include "common/status.h"

namespace canopy::cli {
namespace {

namespace v1c = control::v1;

class HostAdderTest : public testing::Test {
 protected:
  void OnSent(const v1c::RunRequest& request) {
    const MutexLock lock(mutex_);
    sent_.push_back(request);
    changed_.NotifyAll();
  }
  // Waits for the request with this index.
  v1c::RunRequest Sent(size_t index) {
    const MutexLock lock(mutex_);
    while (sent_.size() <= index) changed_.Wait(mutex_);
    return sent_[index];
  }
  static v1c::AddHosts Order(uint64_t number) {
    v1c::AddHosts order;
    order.set_order(number);
    order.set_timeout_ms(60000);
    order.add_hosts()->set_name("a");
    order.mutable_hosts(0)->set_slots(3);
    return order;
  }
  HostAdder::Send Sender() {
    return [this](const v1c::RunRequest& request) { OnSent(request); };
  }

  Mutex mutex_;
  CondVar changed_;
  std::vector<v1c::RunRequest> sent_ CANOPY_GUARDED_BY(mutex_);
};

TEST_F(HostAdderTest, AnOrderAsksTheRootAndReportsItsEnd) {
  HostAdder adder(
      [](OverlayRoot* root, const NodeStartOptions& options) {
        EXPECT_EQ(options.hosts.at(0).name, "a");
        EXPECT_EQ(options.hosts.at(0).slots, 3u);
        EXPECT_EQ(options.timeout_ms, 60000);
        v1c::AddNodesRequest request;
        request.add_nodes("node");
        const auto reply = root->AddNodes(request, /*remote=*/true);
        if (!reply.ok()) return reply.status();
        return Status(kErrUnreach, reply->config());
      },
      Sender());
  adder.OnOrder(Order(4));
  const v1c::RunRequest asked = Sent(0);
  EXPECT_EQ(asked.nodes().order(), 4u);
  EXPECT_TRUE(asked.nodes().remote());
  EXPECT_EQ(asked.nodes().request().nodes(0), "node");
  v1c::OrderedNodesReply reply;
  reply.set_order(4);
  reply.mutable_reply()->set_config("of the root");
  adder.OnReply(reply);
  const v1c::HostsAdded added = Sent(1).hosts_added();
  EXPECT_EQ(added.order(), 4u);
  EXPECT_EQ(added.status(), kErrUnreach);
  EXPECT_EQ(added.error(), "of the root");
}

TEST_F(HostAdderTest, ARefusalOfTheRootIsTheEndOfTheOrder) {
  HostAdder adder(
      [](OverlayRoot* root, const NodeStartOptions&) {
        return root->AddNodes({}, false).status();
      },
      Sender());
  adder.OnOrder(Order(1));
  (void)Sent(0);
  v1c::OrderedNodesReply reply;
  reply.set_order(1);
  reply.set_status(kErrNotFound);
  reply.set_error("over");
  adder.OnReply(reply);
  EXPECT_EQ(Sent(1).hosts_added().status(), kErrNotFound);
  adder.OnOrder(Order(2));
  EXPECT_EQ(Sent(2).nodes().order(), 2u) << "the next order begins";
}

TEST_F(HostAdderTest, ASecondOrderIsRefusedMeanwhile) {
  std::promise<void> go;
  std::shared_future<void> may_end = go.get_future().share();
  HostAdder adder(
      [may_end](OverlayRoot*, const NodeStartOptions&) {
        may_end.wait();
        return Status();
      },
      Sender());
  adder.OnOrder(Order(1));
  adder.OnOrder(Order(2));
  EXPECT_EQ(Sent(0).hosts_added().order(), 2u);
  EXPECT_EQ(Sent(0).hosts_added().status(), kErrResourceBusy);
  go.set_value();
  EXPECT_EQ(Sent(1).hosts_added().order(), 1u);
  EXPECT_EQ(Sent(1).hosts_added().status(), 0);
}

TEST_F(HostAdderTest, StopInterruptsTheOrder) {
  HostAdder adder(
      [](OverlayRoot* root, const NodeStartOptions& options) {
        const Status status = root->AddNodes({}, false).status();
        pollfd entry = {options.interrupt_fd, POLLIN, 0};
        EXPECT_EQ(poll(&entry, 1, -1), 1);
        return status;
      },
      Sender());
  adder.OnOrder(Order(1));
  (void)Sent(0);
  adder.Stop();
  EXPECT_EQ(Sent(1).hosts_added().status(), kErrUnreach);
  adder.OnOrder(Order(2));
  EXPECT_EQ(Sent(2).hosts_added().status(), kErrJobCanceled);
}

TEST_F(HostAdderTest, WithoutAFunctionOrdersAreNotSupported) {
  HostAdder adder(nullptr, Sender());
  adder.OnOrder(Order(1));
  EXPECT_EQ(Sent(0).hosts_added().status(), kErrNotSupported);
}

}  // namespace
}  // namespace canopy::cli
