#include <gtest/gtest.h>

#include <cstdlib>
#include <future>

#include "client/abi/client_fixture.h"
#include "common/codec/infos.h"
#include "common/host_call.h"
#include "common/host_op.h"
#include "common/local/calls.h"

namespace canopy::client {
namespace {

using local::FrameType;

class ResourceTest : public ClientTest {
 protected:
  // Lets the agent answer as an agent whose host has no scheduler.
  void Refuse() {
    agent_->On(FrameType::kHostCall,
               [](FakeAgent& agent, const Request& request) {
                 agent.Reply(request, kErrNotSupported);
               });
  }
  // Returns the content of the next host call, which must be `op` without
  // targets.
  std::string CallOf(HostOp op) {
    const Request frame = agent_->Await(FrameType::kHostCall);
    const auto sent = frame.As<local::HostCall>();
    EXPECT_EQ(sent.op, op);
    EXPECT_TRUE(sent.targets.empty());
    return std::string(sent.call);
  }
};

InfoList Named(const char* key) {
  InfoList infos;
  infos.Add(key, Value::String("x"));
  return infos;
}

TEST_F(ResourceTest, AnAllocationIsRequestedFromTheHost) {
  const InfoList answer = Named(PMIX_ALLOC_ID);
  agent_->On(FrameType::kHostCall,
             [&](FakeAgent& agent, const Request& request) {
               std::string payload;
               EncodeInfos(answer.data(), answer.size(), &payload);
               agent.Reply(request, kSuccess, payload);
             });
  InfoList infos = Named(PMIX_ALLOC_REQ_ID);
  pmix_info_t* results = nullptr;
  size_t count = 0;
  EXPECT_EQ(PMIx_Allocation_request(PMIX_ALLOC_EXTEND, infos.mutable_data(),
                                    infos.size(), &results, &count),
            PMIX_SUCCESS);
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(KeyOf(results[0]), PMIX_ALLOC_ID);
  free(results[0].value.data.string);
  free(results);
  const std::string call = CallOf(HostOp::kAllocate);
  host_call::Allocate allocate;
  ASSERT_TRUE(wire::Decode(call, &allocate));
  EXPECT_EQ(allocate.directive, PMIX_ALLOC_EXTEND);
  InfoList sent;
  EXPECT_TRUE(DecodeInfos(allocate.infos, &sent));
  EXPECT_EQ(sent, infos);
}

TEST_F(ResourceTest, ResourceCallsReturnNotSupportedWithoutAScheduler) {
  Refuse();
  InfoList infos = Named(PMIX_ALLOC_REQ_ID);
  EXPECT_EQ(PMIx_Allocation_request(PMIX_ALLOC_NEW, infos.mutable_data(),
                                    infos.size(), nullptr, nullptr),
            PMIX_ERR_NOT_SUPPORTED);
  EXPECT_EQ(
      PMIx_Session_control(7, infos.data(), infos.size(), nullptr, nullptr),
      PMIX_ERR_NOT_SUPPORTED);
  char name[] = "block";
  EXPECT_EQ(PMIx_Resource_block(1, name, nullptr, 0, nullptr, 0),
            PMIX_ERR_NOT_SUPPORTED);
}

TEST_F(ResourceTest, NonBlockingCallsReportByTheirCallbacks) {
  Refuse();
  std::promise<int> allocated;
  std::promise<int> controlled;
  std::promise<int> blocked;
  const auto on_info = [](pmix_status_t status, pmix_info_t*, size_t,
                          void* cbdata, pmix_release_cbfunc_t, void*) {
    static_cast<std::promise<int>*>(cbdata)->set_value(status);
  };
  const auto on_done = [](pmix_status_t status, void* cbdata) {
    static_cast<std::promise<int>*>(cbdata)->set_value(status);
  };
  InfoList infos = Named(PMIX_ALLOC_REQ_ID);
  ASSERT_EQ(PMIx_Allocation_request_nb(PMIX_ALLOC_NEW, infos.mutable_data(),
                                       infos.size(), on_info, &allocated),
            PMIX_SUCCESS);
  EXPECT_EQ(allocated.get_future().get(), PMIX_ERR_NOT_SUPPORTED);
  ASSERT_EQ(
      PMIx_Session_control(7, infos.data(), infos.size(), on_info, &controlled),
      PMIX_SUCCESS);
  EXPECT_EQ(controlled.get_future().get(), PMIX_ERR_NOT_SUPPORTED);
  char name[] = "block";
  pmix_resource_unit_t unit = {};
  ASSERT_EQ(PMIx_Resource_block_nb(1, name, &unit, 1, infos.data(),
                                   infos.size(), on_done, &blocked),
            PMIX_SUCCESS);
  EXPECT_EQ(blocked.get_future().get(), PMIX_ERR_NOT_SUPPORTED);
}

TEST_F(ResourceTest, MalformedCallsAreRefusedAtOnce) {
  InfoList infos = Named(PMIX_ALLOC_REQ_ID);
  EXPECT_EQ(PMIx_Allocation_request(0, infos.mutable_data(), infos.size(),
                                    nullptr, nullptr),
            PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(
      PMIx_Allocation_request_nb(PMIX_ALLOC_NEW, nullptr, 1, nullptr, nullptr),
      PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Session_control(7, nullptr, 0, nullptr, nullptr),
            PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Session_control(7, nullptr, 2, nullptr, nullptr),
            PMIX_ERR_BAD_PARAM);
  char name[] = "block";
  EXPECT_EQ(PMIx_Resource_block(1, nullptr, nullptr, 0, nullptr, 0),
            PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Resource_block(1, name, nullptr, 2, nullptr, 0),
            PMIX_ERR_BAD_PARAM);
}

}  // namespace
}  // namespace canopy::client
