#include <gtest/gtest.h>

#include <future>
#include <utility>
#include <vector>

#include "client/abi/client_fixture.h"
#include "common/codec/infos.h"
#include "common/local/calls.h"

namespace canopy::client {
namespace {

using local::FrameType;

class JobControlTest : public ClientTest {};

TEST_F(JobControlTest, TheRequestGoesToTheAgent) {
  InfoList infos;
  infos.Add(PMIX_REGISTER_CLEANUP, Value::String("/tmp/x"));
  InfoList answer;
  answer.Add("answer", Value::Int(1));
  agent_->On(FrameType::kHostCall, [&](FakeAgent& agent,
                                       const Request& request) {
    std::string payload;
    EXPECT_EQ(EncodeInfos(answer.data(), answer.size(), &payload), kSuccess);
    agent.Reply(request, kSuccess, payload);
  });
  pmix_info_t* results = nullptr;
  size_t count = 0;
  EXPECT_EQ(
      PMIx_Job_control(&self_, 1, infos.data(), infos.size(), &results, &count),
      PMIX_SUCCESS);
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(KeyOf(results[0]), "answer");
  free(results);
  const Request frame = agent_->Await(FrameType::kHostCall);
  const auto call = frame.As<local::HostCall>();
  EXPECT_EQ(call.op, HostOp::kJobControl);
  EXPECT_EQ(call.targets, (std::vector<ProcView>{{agent_->nspace(), 0}}));
  InfoList sent;
  EXPECT_TRUE(DecodeInfos(call.call, &sent));
  EXPECT_EQ(sent, infos);
}

TEST_F(JobControlTest, ANonBlockingCallPassesItsStatusToItsCallback) {
  agent_->On(FrameType::kHostCall,
             [](FakeAgent& agent, const Request& request) {
               agent.Reply(request, kErrNotSupported);
             });
  std::promise<int> done;
  const auto on_done = [](pmix_status_t status, pmix_info_t*, size_t,
                          void* cbdata, pmix_release_cbfunc_t, void*) {
    static_cast<std::promise<int>*>(cbdata)->set_value(status);
  };
  const InfoList infos = Flags({PMIX_JOB_CTRL_KILL});
  ASSERT_EQ(PMIx_Job_control_nb(nullptr, 0, infos.data(), infos.size(), on_done,
                                &done),
            PMIX_SUCCESS);
  EXPECT_EQ(done.get_future().get(), PMIX_ERR_NOT_SUPPORTED);
}

TEST_F(JobControlTest, MalformedCallsAreRejected) {
  EXPECT_EQ(PMIx_Job_control(nullptr, 0, nullptr, 0, nullptr, nullptr),
            PMIX_ERR_BAD_PARAM);
  const InfoList infos = Flags({PMIX_JOB_CTRL_KILL});
  EXPECT_EQ(PMIx_Job_control(nullptr, 2, infos.data(), infos.size(), nullptr,
                             nullptr),
            PMIX_ERR_BAD_PARAM);
}

}  // namespace
}  // namespace canopy::client
