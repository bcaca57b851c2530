#include <gtest/gtest.h>

#include <future>
#include <string>

#include "client/abi/client_fixture.h"
#include "common/codec/infos.h"
#include "common/host_call.h"
#include "common/host_op.h"
#include "common/local/calls.h"

namespace canopy::client {
namespace {

using local::FrameType;

class MonitorTest : public ClientTest {
 protected:
  void ExpectSent(const InfoList& what, int error, const InfoList& with) {
    const Request frame = agent_->Await(FrameType::kHostCall);
    const auto host = frame.As<local::HostCall>();
    EXPECT_EQ(host.op, HostOp::kMonitor);
    EXPECT_TRUE(host.targets.empty());
    host_call::Monitor call;
    EXPECT_TRUE(wire::Decode(host.call, &call));
    InfoList sent;
    InfoList directives;
    EXPECT_TRUE(DecodeInfos(call.what, &sent));
    EXPECT_EQ(call.error, error);
    EXPECT_TRUE(DecodeInfos(call.infos, &directives));
    EXPECT_EQ(sent, what);
    EXPECT_EQ(directives, with);
  }

  const InfoList file_ = {{PMIX_MONITOR_FILE, Value::String("/file")}};
  const InfoList with_ = {{PMIX_MONITOR_FILE_CHECK_TIME, Value::Uint32(5)}};
};

TEST_F(MonitorTest, Job11TheRequestGoesToTheAgent) {
  pmix_info_t* results = nullptr;
  size_t count = 7;
  EXPECT_EQ(PMIx_Process_monitor(file_.data(), -3000, with_.data(), 1, &results,
                                 &count),
            PMIX_SUCCESS);
  EXPECT_EQ(results, nullptr);
  EXPECT_EQ(count, 0u);
  ExpectSent(file_, -3000, with_);
}

TEST_F(MonitorTest, ANonBlockingCallPassesItsStatusToItsCallback) {
  agent_->On(FrameType::kHostCall,
             [](FakeAgent& agent, const Request& request) {
               agent.Reply(request, kErrBadParam);
             });
  std::promise<int> done;
  const auto on_done = [](pmix_status_t status, pmix_info_t*, size_t,
                          void* cbdata, pmix_release_cbfunc_t, void*) {
    static_cast<std::promise<int>*>(cbdata)->set_value(status);
  };
  ASSERT_EQ(
      PMIx_Process_monitor_nb(file_.data(), -1, nullptr, 0, on_done, &done),
      PMIX_SUCCESS);
  EXPECT_EQ(done.get_future().get(), PMIX_ERR_BAD_PARAM);
}

TEST_F(MonitorTest, Job19AHeartbeatReturnsAtOnce) {
  agent_->On(FrameType::kHostCall, [](FakeAgent&, const Request&) {});
  PMIx_Heartbeat();
  ExpectSent({{PMIX_SEND_HEARTBEAT, Value()}}, 0, {});
}

TEST_F(MonitorTest, MalformedCallsAreRejected) {
  EXPECT_EQ(PMIx_Process_monitor(nullptr, -1, nullptr, 0, nullptr, nullptr),
            PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(
      PMIx_Process_monitor(file_.data(), -1, nullptr, 1, nullptr, nullptr),
      PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Process_monitor_nb(nullptr, -1, nullptr, 0, nullptr, nullptr),
            PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(agent_->Count(FrameType::kHostCall), 0u);
}

}  // namespace
}  // namespace canopy::client
