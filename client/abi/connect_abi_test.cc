#include <gtest/gtest.h>

#include <cstdint>
#include <future>
#include <string>
#include <vector>

#include "client/abi/arrival.h"
#include "client/abi/client_fixture.h"

namespace canopy::client {
namespace {

using local::FrameType;

class ConnectTest : public ClientTest {
 protected:
  // Returns all processes of the caller's job and of another job.
  std::vector<pmix_proc_t> Jobs() {
    return {Proc(agent_->nspace(), PMIX_RANK_WILDCARD),
            Proc("job-2", PMIX_RANK_WILDCARD)};
  }
  static int Connect(const std::vector<pmix_proc_t>& procs,
                     const InfoList& infos = {}) {
    return PMIx_Connect(procs.data(), procs.size(), infos.data(), infos.size());
  }
  static int Disconnect(const std::vector<pmix_proc_t>& procs,
                        const InfoList& infos = {}) {
    return PMIx_Disconnect(procs.data(), procs.size(), infos.data(),
                           infos.size());
  }
  void Answer(int status) {
    agent_->On(FrameType::kCollective,
               [=](FakeAgent& agent, const Request& request) {
                 agent.Reply(request, status);
               });
  }
  Arrival Last(size_t count) {
    return ParseArrival(agent_->Await(FrameType::kCollective, count));
  }
};

TEST_F(ConnectTest, ConnectAndDisconnectReachTheAgent) {
  InfoList infos;
  infos.Add(PMIX_TIMEOUT, Value::Int(3));
  infos.Add("site.directive", Value::String("x"));
  EXPECT_EQ(Connect(Jobs(), infos), PMIX_SUCCESS);
  Arrival arrival = Last(1);
  EXPECT_EQ(arrival.op, 2u);
  EXPECT_EQ(arrival.procs,
            (std::vector<ProcId>{{agent_->nspace(), kRankWildcard},
                                 {"job-2", kRankWildcard}}));
  EXPECT_EQ(arrival.timeout_ms, 3000u);
  EXPECT_EQ(arrival.infos, infos);
  EXPECT_EQ(Disconnect(Jobs()), PMIX_SUCCESS);
  arrival = Last(2);
  EXPECT_EQ(arrival.op, 3u);
  EXPECT_EQ(arrival.procs.size(), 2u);
  EXPECT_TRUE(arrival.infos.empty());
}

TEST_F(ConnectTest, CallsReturnTheAgentsStatus) {
  Answer(kErrInvalidOperation);
  EXPECT_EQ(Disconnect(Jobs()), PMIX_ERR_INVALID_OPERATION);
  Answer(kErrProcTermWoSync);
  EXPECT_EQ(Connect(Jobs()), PMIX_ERR_PROC_TERM_WO_SYNC);
}

TEST_F(ConnectTest, WrongArgumentsAreRejected) {
  OpResult result;
  for (const auto& call : {PMIx_Connect, PMIx_Disconnect}) {
    EXPECT_EQ(call(nullptr, 0, nullptr, 0), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(call(nullptr, 1, nullptr, 0), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(call(&self_, 0, nullptr, 0), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(call(&self_, 1, nullptr, 1), PMIX_ERR_BAD_PARAM);
  }
  for (const auto& call : {PMIx_Connect_nb, PMIx_Disconnect_nb}) {
    EXPECT_EQ(call(nullptr, 0, nullptr, 0, OpResult::Set, &result),
              PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(call(&self_, 1, nullptr, 1, OpResult::Set, &result),
              PMIX_ERR_BAD_PARAM);
  }
  EXPECT_EQ(agent_->Count(FrameType::kCollective), 0u);
}

TEST_F(ConnectTest, UnsupportedRequiredDirectivesAreRefused) {
  InfoList infos;
  infos.Add(PMIX_ALL_CLONES_PARTICIPATE, Value::Bool(true), PMIX_INFO_REQD);
  EXPECT_EQ(Connect(Jobs(), infos), PMIX_ERR_NOT_SUPPORTED);
  infos.Clear();
  infos.Add(PMIX_TIMEOUT, Value::Int(-1));
  EXPECT_EQ(Connect(Jobs(), infos), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(agent_->Count(FrameType::kCollective), 0u);
}

TEST_F(ConnectTest, NonBlockingCallsReportByTheirCallbacks) {
  Answer(kErrTimeout);
  const std::vector<pmix_proc_t> jobs = Jobs();
  OpResult connect;
  ASSERT_EQ(PMIx_Connect_nb(jobs.data(), jobs.size(), nullptr, 0, OpResult::Set,
                            &connect),
            PMIX_SUCCESS);
  EXPECT_EQ(connect.Wait(), PMIX_ERR_TIMEOUT);
  EXPECT_NE(connect.thread, std::this_thread::get_id());
  OpResult disconnect;
  ASSERT_EQ(PMIx_Disconnect_nb(jobs.data(), jobs.size(), nullptr, 0,
                               OpResult::Set, &disconnect),
            PMIX_SUCCESS);
  EXPECT_EQ(disconnect.Wait(), PMIX_ERR_TIMEOUT);
  EXPECT_EQ(Last(2).op, 3u);
}

TEST_F(ConnectTest, TheCallerMustBeAmongTheProcesses) {
  const pmix_proc_t other = Proc("job-2", PMIX_RANK_WILDCARD);
  EXPECT_EQ(PMIx_Connect(&other, 1, nullptr, 0), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Disconnect(&other, 1, nullptr, 0), PMIX_ERR_INVALID_OPERATION);
  OpResult result;
  ASSERT_EQ(PMIx_Disconnect_nb(&other, 1, nullptr, 0, OpResult::Set, &result),
            PMIX_SUCCESS);
  EXPECT_EQ(result.Wait(), PMIX_ERR_INVALID_OPERATION);
  EXPECT_EQ(agent_->Count(FrameType::kCollective), 0u);
}

TEST_F(ConnectTest, ANonBlockingCallEndsWhenTheAgentDies) {
  agent_->On(FrameType::kCollective,
             [](FakeAgent& agent, const Request&) { agent.Die(); });
  OpResult result;
  ASSERT_EQ(PMIx_Connect_nb(&self_, 1, nullptr, 0, OpResult::Set, &result),
            PMIX_SUCCESS);
  EXPECT_EQ(result.Wait(), PMIX_ERR_LOST_CONNECTION);
}

TEST_F(ConnectTest, TheOtherJobsDataIsReadableAfterAConnect) {
  agent_->On(FrameType::kGet, [](FakeAgent& agent, const Request& request) {
    agent.OfferNamespace("job-2", 5);
    agent.Reply(request, kSuccess);
  });
  ASSERT_EQ(Connect(Jobs()), PMIX_SUCCESS);
  const pmix_proc_t other = Proc("job-2", PMIX_RANK_WILDCARD);
  EXPECT_EQ(Get(&other, PMIX_JOB_SIZE, {}, &status_), Value::Uint32(5));
  EXPECT_EQ(status_, PMIX_SUCCESS);
}

TEST(ConnectWithoutAgentTest, CallsFailWithoutAnAgent) {
  pmix_proc_t self;
  OpResult result;
  EXPECT_EQ(PMIx_Connect(&self, 1, nullptr, 0), PMIX_ERR_INIT);
  EXPECT_EQ(PMIx_Disconnect_nb(&self, 1, nullptr, 0, OpResult::Set, &result),
            PMIX_ERR_INIT);
  ASSERT_EQ(PMIx_Init(&self, nullptr, 0), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Connect(&self, 1, nullptr, 0), PMIX_ERR_UNREACH);
  EXPECT_EQ(PMIx_Disconnect(&self, 1, nullptr, 0), PMIX_ERR_UNREACH);
  EXPECT_EQ(PMIx_Connect_nb(&self, 1, nullptr, 0, OpResult::Set, &result),
            PMIX_ERR_UNREACH);
  EXPECT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
}

}  // namespace
}  // namespace canopy::client
