#include <gtest/gtest.h>

#include <future>
#include <string>
#include <thread>
#include <vector>

#include "client/abi/arrival.h"
#include "client/abi/client_fixture.h"
#include "common/codec/infos.h"
#include "common/local/calls.h"
#include "common/local/data.h"

namespace canopy::client {
namespace {

using local::FrameType;

class FenceTest : public ClientTest {
 protected:
  int Fence(const std::vector<pmix_proc_t>& procs, const InfoList& infos = {}) {
    return PMIx_Fence(procs.empty() ? nullptr : procs.data(), procs.size(),
                      infos.data(), infos.size());
  }
  Arrival Last() { return ParseArrival(agent_->Await(FrameType::kCollective)); }
};

TEST_F(FenceTest, AFenceWithoutAListOfProcessesIncludesTheWholeJob) {
  EXPECT_EQ(Fence({}), PMIX_SUCCESS);
  const Arrival arrival = Last();
  EXPECT_EQ(arrival.op, 1u);
  EXPECT_TRUE(arrival.procs.empty());
  EXPECT_FALSE(arrival.collect);
  EXPECT_EQ(arrival.timeout_ms, 0u);
}

TEST_F(FenceTest, DirectivesReachTheAgent) {
  InfoList infos = Flags({PMIX_COLLECT_DATA, PMIX_COLLECT_GENERATED_JOB_INFO});
  infos.Add(PMIX_TIMEOUT, Value::Int(2));
  infos.Add("site.directive", Value::String("x"));
  EXPECT_EQ(Fence({Proc(agent_->nspace(), 2), self_}, infos), PMIX_SUCCESS);
  const Arrival arrival = Last();
  EXPECT_EQ(arrival.procs, (std::vector<ProcId>{{agent_->nspace(), 2},
                                                {agent_->nspace(), 0}}));
  EXPECT_TRUE(arrival.collect);
  EXPECT_EQ(arrival.timeout_ms, 2000u);
  EXPECT_EQ(arrival.infos, infos);
}

TEST_F(FenceTest, Gen12HonouredRequiredDirectivesAreMarked) {
  InfoList infos;
  infos.Add(PMIX_COLLECT_DATA, Value::Bool(true), PMIX_INFO_REQD);
  infos.Add("site.directive", Value::Bool(true));
  EXPECT_EQ(Fence({self_}, infos), PMIX_SUCCESS);
  const InfoList sent = Last().infos;
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[0].flags, PMIX_INFO_REQD | PMIX_INFO_REQD_PROCESSED);
  EXPECT_EQ(sent[1].flags, 0u);
  // An attribute that another layer has processed already is not refused.
  infos.Clear();
  infos.Add("site.directive", Value::Bool(true),
            PMIX_INFO_REQD | PMIX_INFO_REQD_PROCESSED);
  EXPECT_EQ(Fence({self_}, infos), PMIX_SUCCESS);
}

TEST_F(FenceTest, AFenceReturnsTheAgentsStatus) {
  agent_->On(FrameType::kCollective, [](FakeAgent& agent, const Request& r) {
    agent.Reply(r, kErrTimeout);
  });
  EXPECT_EQ(Fence({}), PMIX_ERR_TIMEOUT);
}

TEST_F(FenceTest, ParticipantsMayBeWildcardsOfSeveralJobs) {
  EXPECT_EQ(Fence({Proc(agent_->nspace(), PMIX_RANK_WILDCARD),
                   Proc("job-2", PMIX_RANK_WILDCARD)}),
            PMIX_SUCCESS);
}

TEST_F(FenceTest, MalformedParticipantsAreRejected) {
  EXPECT_EQ(Fence({Proc(agent_->nspace(), 1)}), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(Fence({self_, Proc(agent_->nspace(), 4)}), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(Fence({self_, Proc("", 1)}), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(Fence({self_, Proc(agent_->nspace(), PMIX_RANK_UNDEF)}),
            PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Fence(nullptr, 3, nullptr, 0), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Fence(nullptr, 0, nullptr, 1), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(agent_->Count(FrameType::kCollective), 0u);
}

TEST_F(FenceTest, UnsupportedRequiredDirectivesAreRefused) {
  InfoList infos;
  infos.Add(PMIX_ALL_CLONES_PARTICIPATE, Value::Bool(true), PMIX_INFO_REQD);
  EXPECT_EQ(Fence({}, infos), PMIX_ERR_NOT_SUPPORTED);
  infos.Clear();
  infos.Add(PMIX_COLLECT_DATA, Value::Bool(true), PMIX_INFO_REQD);
  EXPECT_EQ(Fence({}, infos), PMIX_SUCCESS);
}

TEST_F(FenceTest, ANonBlockingFenceReportsOnAnotherThread) {
  OpResult result;
  EXPECT_EQ(PMIx_Fence_nb(nullptr, 0, nullptr, 0, OpResult::Set, &result),
            PMIX_SUCCESS);
  EXPECT_EQ(result.status.get_future().get(), PMIX_SUCCESS);
  EXPECT_NE(result.thread, std::this_thread::get_id());
}

TEST_F(FenceTest, ABlockingCallMayOvertakeANonBlockingOne) {
  std::promise<Request> held;
  agent_->On(FrameType::kCollective,
             [&](FakeAgent&, const Request& r) { held.set_value(r); });
  OpResult result;
  ASSERT_EQ(PMIx_Fence_nb(nullptr, 0, nullptr, 0, OpResult::Set, &result),
            PMIX_SUCCESS);
  const Request request = held.get_future().get();
  Get(2, "absent");
  EXPECT_EQ(status_, PMIX_ERR_NOT_FOUND);
  agent_->Reply(request, kSuccess);
  EXPECT_EQ(result.status.get_future().get(), PMIX_SUCCESS);
}

TEST_F(FenceTest, ANonBlockingFenceEndsWhenTheAgentDies) {
  agent_->On(FrameType::kCollective,
             [](FakeAgent& agent, const Request&) { agent.Die(); });
  OpResult result;
  ASSERT_EQ(PMIx_Fence_nb(nullptr, 0, nullptr, 0, OpResult::Set, &result),
            PMIX_SUCCESS);
  EXPECT_EQ(result.status.get_future().get(), PMIX_ERR_LOST_CONNECTION);
}

TEST_F(FenceTest, ACallbackMayMakeBlockingCalls) {
  struct Nested {
    pmix_proc_t self;
    std::promise<int> status;
  } nested{self_, {}};
  const auto in_callback = [](pmix_status_t, void* cbdata) {
    static_cast<Nested*>(cbdata)->status.set_value(
        PMIx_Fence(nullptr, 0, nullptr, 0));
  };
  ASSERT_EQ(PMIx_Fence_nb(nullptr, 0, nullptr, 0, in_callback, &nested),
            PMIX_SUCCESS);
  EXPECT_EQ(nested.status.get_future().get(), PMIX_SUCCESS);
}

TEST_F(FenceTest, AbortSendsStatusTextAndTargets) {
  agent_->On(FrameType::kAbort, [](FakeAgent& agent, const Request& r) {
    agent.Reply(r, kErrNotSupported);
  });
  pmix_proc_t peer = Proc(agent_->nspace(), 3);
  EXPECT_EQ(PMIx_Abort(17, "why", &peer, 1), PMIX_ERR_NOT_SUPPORTED);
  const Request in_frame = agent_->Await(FrameType::kAbort);
  const auto abort = in_frame.As<local::Abort>();
  EXPECT_EQ(abort.status, 17);
  EXPECT_EQ(abort.text, "why");
  EXPECT_EQ(abort.targets, (std::vector<ProcView>{{agent_->nspace(), 3}}));
  EXPECT_EQ(PMIx_Abort(1, nullptr, nullptr, 2), PMIX_ERR_BAD_PARAM);
}

TEST_F(FenceTest, AnAbortThatEndsTheCallerSucceedsIfTheAgentIsGone) {
  agent_->On(FrameType::kAbort, [](FakeAgent& agent, const Request& r) {
    agent.Reply(r, kSuccess);
    agent.Die();
  });
  EXPECT_EQ(PMIx_Abort(1, nullptr, nullptr, 0), PMIX_SUCCESS);
}

TEST_F(FenceTest, ResolveFindsPeersAndNodes) {
  pmix_proc_t* procs = nullptr;
  size_t count = 0;
  ASSERT_EQ(
      PMIx_Resolve_peers("there", agent_->nspace().c_str(), &procs, &count),
      PMIX_SUCCESS);
  ASSERT_EQ(count, 2u);
  EXPECT_EQ(FromC(procs[0]), (ProcId{agent_->nspace(), 2}));
  EXPECT_EQ(FromC(procs[1]), (ProcId{agent_->nspace(), 3}));
  free(procs);
  ASSERT_EQ(PMIx_Resolve_peers(nullptr, nullptr, &procs, &count), PMIX_SUCCESS);
  ASSERT_EQ(count, 2u);
  EXPECT_EQ(FromC(procs[1]), (ProcId{agent_->nspace(), 1}));
  free(procs);
  // The agent's list names a job that this process has not read yet.
  agent_->On(FrameType::kQuery, [](FakeAgent& agent, const Request& r) {
    const InfoList names = {
        {PMIX_QUERY_NAMESPACES, Value::String(agent.nspace() + ",job-2,gone")}};
    std::string payload;
    EXPECT_EQ(EncodeInfos(names.data(), names.size(), &payload), kSuccess);
    agent.Reply(r, kSuccess, payload);
  });
  agent_->On(FrameType::kGet, [](FakeAgent& agent, const Request& r) {
    const std::string nspace(r.As<local::Get>().target.nspace);
    if (nspace == "job-2") agent.OfferNamespace(nspace, 3);
    agent.Reply(r, nspace == "job-2" ? kSuccess : kErrNotFound);
  });
  ASSERT_EQ(PMIx_Resolve_peers("far", nullptr, &procs, &count), PMIX_SUCCESS);
  ASSERT_EQ(count, 3u);
  EXPECT_EQ(FromC(procs[2]), (ProcId{"job-2", 2}));
  free(procs);
  char* all = nullptr;
  ASSERT_EQ(PMIx_Resolve_nodes(nullptr, &all), PMIX_SUCCESS);
  EXPECT_STREQ(all, "here,there,far");
  free(all);
  ASSERT_EQ(PMIx_Resolve_peers("nowhere", nullptr, &procs, &count),
            PMIX_SUCCESS);
  EXPECT_EQ(procs, nullptr);
  EXPECT_EQ(count, 0u);
  char* nodes = nullptr;
  ASSERT_EQ(PMIx_Resolve_nodes(agent_->nspace().c_str(), &nodes), PMIX_SUCCESS);
  EXPECT_STREQ(nodes, "here,there");
  free(nodes);
  EXPECT_EQ(PMIx_Resolve_nodes("job-9", &nodes), PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(PMIx_Resolve_nodes("job-9", nullptr), PMIX_ERR_BAD_PARAM);
}

}  // namespace
}  // namespace canopy::client
