#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <future>
#include <string>
#include <vector>

#include "client/abi/arrival.h"
#include "client/abi/client_fixture.h"
#include "common/codec/infos.h"
#include "common/local/collectives.h"
#include "common/local/data.h"

namespace canopy::client {
namespace {

using local::FrameType;

constexpr size_t kContext = 4711;

// Returns the results of a construct in codec form.
std::string Results() {
  InfoList infos;
  infos.Add(PMIX_GROUP_CONTEXT_ID, Value::Size(kContext));
  std::string out;
  EXPECT_EQ(EncodeInfos(infos.data(), infos.size(), &out), PMIX_SUCCESS);
  return out;
}

class GroupTest : public ClientTest {
 protected:
  GroupTest() : all_(Proc(agent_->nspace(), PMIX_RANK_WILDCARD)) {
    Answer(PMIX_SUCCESS);
  }
  void Answer(int status) {
    agent_->On(FrameType::kCollective,
               [=](FakeAgent& agent, const Request& request) {
                 agent.Reply(request, status, Results());
               });
  }
  int Construct(const InfoList& infos = {}) {
    return PMIx_Group_construct("g", &all_, 1, infos.data(), infos.size(),
                                &results_, &nresults_);
  }
  Arrival Last(size_t count) {
    return ParseArrival(agent_->Await(FrameType::kCollective, count));
  }
  void ExpectContext() {
    ASSERT_EQ(nresults_, 1u);
    EXPECT_STREQ(results_[0].key, PMIX_GROUP_CONTEXT_ID);
    EXPECT_EQ(results_[0].value.data.size, kContext);
    free(results_);
  }

  const pmix_proc_t all_;
  pmix_info_t* results_ = nullptr;
  size_t nresults_ = 0;
};

TEST_F(GroupTest, ADestructNamesTheParticipantsOfTheConstruct) {
  InfoList infos;
  infos.Add(PMIX_TIMEOUT, Value::Int(3));
  infos.Add(PMIX_GROUP_ASSIGN_CONTEXT_ID, Value::Bool(true));
  ASSERT_EQ(Construct(infos), PMIX_SUCCESS);
  ExpectContext();
  Arrival arrival = Last(1);
  EXPECT_EQ(arrival.op, 4u);
  EXPECT_EQ(arrival.name, "g");
  const std::vector<ProcId> all = {{agent_->nspace(), kRankWildcard}};
  EXPECT_EQ(arrival.procs, all);
  EXPECT_EQ(arrival.timeout_ms, 3000u);
  EXPECT_EQ(arrival.infos, infos);
  EXPECT_EQ(PMIx_Group_destruct("g", nullptr, 0), PMIX_SUCCESS);
  arrival = Last(2);
  EXPECT_EQ(arrival.op, 5u);
  EXPECT_EQ(arrival.procs, all);
  // The group is over now, so this process does not know the members.
  EXPECT_EQ(PMIx_Group_destruct("g", nullptr, 0), PMIX_SUCCESS);
  EXPECT_TRUE(Last(3).procs.empty());
}

TEST_F(GroupTest, AGroupsNameStandsForItsMembers) {
  const std::vector<ProcId> procs = {{agent_->nspace(), 1}, {"other", 7}};
  InfoList members;
  members.Add(PMIX_GROUP_MEMBERSHIP, Value::ProcArray(procs));
  std::string results;
  EXPECT_EQ(EncodeInfos(members.data(), members.size(), &results),
            PMIX_SUCCESS);
  agent_->On(FrameType::kCollective,
             [=](FakeAgent& agent, const Request& request) {
               agent.Reply(request, PMIX_SUCCESS, results);
             });
  const pmix_proc_t group = Proc("g", PMIX_RANK_WILDCARD);
  EXPECT_EQ(PMIx_Fence(&group, 1, nullptr, 0), PMIX_ERR_BAD_PARAM);
  ASSERT_EQ(Construct(), PMIX_SUCCESS);
  PMIX_INFO_FREE(results_, nresults_);
  EXPECT_EQ(PMIx_Fence(&group, 1, nullptr, 0), PMIX_SUCCESS);
  const Request fence = agent_->Await(FrameType::kCollective, 2);
  EXPECT_NE(fence.payload.find("g"), std::string::npos);
  // A construct may name a group as a member. The agent replaces it by the
  // members of that group.
  EXPECT_EQ(PMIx_Group_construct("h", &group, 1, nullptr, 0, nullptr, nullptr),
            PMIX_SUCCESS);
  EXPECT_EQ(Last(3).procs, (std::vector<ProcId>{{"g", kRankWildcard}}));
  EXPECT_EQ(PMIx_Group_destruct("h", nullptr, 0), PMIX_SUCCESS);
  EXPECT_TRUE(Last(4).procs.empty());
  pmix_value_t* value = nullptr;
  const pmix_proc_t nobody = Proc("g", 2);
  EXPECT_EQ(PMIx_Get(&nobody, "key", nullptr, 0, &value), PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(agent_->Count(FrameType::kGet), 0u);
  const pmix_proc_t other = Proc("g", 1);
  agent_->On(FrameType::kGet, [](FakeAgent& agent, const Request& request) {
    EXPECT_EQ(OwnerOf(request.As<local::Get>().target), (ProcId{"other", 7}));
    agent.Reply(request, kErrNotFound);
  });
  EXPECT_EQ(PMIx_Get(&other, "key", nullptr, 0, &value), PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(agent_->Count(FrameType::kGet), 1u);
}

TEST_F(GroupTest, CallsReturnTheAgentsStatus) {
  Answer(kErrExists);
  EXPECT_EQ(Construct(), PMIX_ERR_EXISTS);
  EXPECT_EQ(nresults_, 0u);
  Answer(kErrPartialSuccess);
  EXPECT_EQ(Construct(), PMIX_ERR_PARTIAL_SUCCESS);
  ExpectContext();
  Answer(kErrNotFound);
  EXPECT_EQ(PMIx_Group_destruct("g", nullptr, 0), PMIX_ERR_NOT_FOUND);
}

TEST_F(GroupTest, ResultPointersMayBeNull) {
  EXPECT_EQ(PMIx_Group_construct("g", &all_, 1, nullptr, 0, nullptr, nullptr),
            PMIX_SUCCESS);
}

TEST_F(GroupTest, WrongArgumentsAreRejected) {
  const std::string longest(PMIX_MAX_NSLEN + 1, 'x');
  for (const char* name :
       {static_cast<const char*>(nullptr), "", longest.c_str()}) {
    EXPECT_EQ(
        PMIx_Group_construct(name, &all_, 1, nullptr, 0, &results_, &nresults_),
        PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(PMIx_Group_destruct(name, nullptr, 0), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(PMIx_Group_leave(name, nullptr, 0), PMIX_ERR_BAD_PARAM);
    // The non-blocking form returns the error if the name is null, and
    // otherwise passes it to the callback.
    OpResult leave;
    const bool is_given = name != nullptr;
    EXPECT_EQ(PMIx_Group_leave_nb(name, nullptr, 0, OpResult::Set, &leave),
              is_given ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM);
    if (!is_given) continue;
    EXPECT_EQ(leave.Wait(), PMIX_ERR_BAD_PARAM);
  }
  const pmix_proc_t other = Proc("job-2", 0);
  for (const auto& [procs, count] :
       {std::pair(&all_, size_t{0}), {nullptr, 1}, {&other, 1}}) {
    EXPECT_EQ(PMIx_Group_construct("g", procs, count, nullptr, 0, &results_,
                                   &nresults_),
              PMIX_ERR_BAD_PARAM);
  }
  EXPECT_EQ(PMIx_Group_leave("g", nullptr, 1), PMIX_ERR_BAD_PARAM);
  for (const Value& id : {Value::String("other"), Value::Bool(true)}) {
    const InfoList another = {{PMIX_GROUP_ID, id}};
    EXPECT_EQ(PMIx_Group_destruct("g", another.data(), 1), PMIX_ERR_BAD_PARAM);
  }
  InfoList required;
  required.Add(PMIX_GROUP_OPTIONAL, Value::Bool(true), PMIX_INFO_REQD);
  EXPECT_EQ(PMIx_Group_leave("g", required.data(), 1), PMIX_ERR_NOT_SUPPORTED);
  EXPECT_EQ(agent_->Count(FrameType::kCollective), 0u);
  EXPECT_EQ(agent_->Count(FrameType::kGroupCall), 0u);
}

TEST_F(GroupTest, LeaveSendsAGroupCall) {
  ASSERT_EQ(Construct(), PMIX_SUCCESS);
  free(results_);
  EXPECT_EQ(PMIx_Group_leave("g", nullptr, 0), PMIX_SUCCESS);
  const Request frame = agent_->Await(FrameType::kGroupCall);
  const auto call = frame.As<local::GroupCall>();
  EXPECT_EQ(call.step, local::GroupStep::kLeave);
  EXPECT_EQ(call.group, "g");
}

struct InfoResult {
  static void Set(pmix_status_t status, pmix_info_t* info, size_t ninfo,
                  void* cbdata, pmix_release_cbfunc_t, void*) {
    auto* result = static_cast<InfoResult*>(cbdata);
    if (ninfo > 0) result->context = info[0].value.data.size;
    result->status.set_value(status);
  }

  std::promise<int> status;
  size_t context = 0;
};

TEST_F(GroupTest, NonBlockingCallsReportByTheirCallbacks) {
  InfoResult construct;
  ASSERT_EQ(PMIx_Group_construct_nb("g", &all_, 1, nullptr, 0, InfoResult::Set,
                                    &construct),
            PMIX_SUCCESS);
  EXPECT_EQ(construct.status.get_future().get(), PMIX_SUCCESS);
  EXPECT_EQ(construct.context, kContext);
  OpResult destruct;
  ASSERT_EQ(PMIx_Group_destruct_nb("g", nullptr, 0, OpResult::Set, &destruct),
            PMIX_SUCCESS);
  EXPECT_EQ(destruct.Wait(), PMIX_SUCCESS);
  EXPECT_EQ(Last(2).procs.size(), 1u);
  OpResult leave;
  ASSERT_EQ(PMIx_Group_leave_nb("g", nullptr, 0, OpResult::Set, &leave),
            PMIX_SUCCESS);
  EXPECT_EQ(leave.Wait(), PMIX_SUCCESS);
}

TEST(GroupWithoutAgentTest, CallsFailWithoutAnAgent) {
  pmix_proc_t self;
  OpResult result;
  EXPECT_EQ(PMIx_Group_destruct("g", nullptr, 0), PMIX_ERR_INIT);
  EXPECT_EQ(PMIx_Group_leave_nb("g", nullptr, 0, OpResult::Set, &result),
            PMIX_ERR_INIT);
  ASSERT_EQ(PMIx_Init(&self, nullptr, 0), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Group_construct("g", &self, 1, nullptr, 0, nullptr, nullptr),
            PMIX_ERR_UNREACH);
  EXPECT_EQ(PMIx_Group_destruct("g", nullptr, 0), PMIX_ERR_UNREACH);
  EXPECT_EQ(PMIx_Group_leave("g", nullptr, 0), PMIX_ERR_UNREACH);
  EXPECT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
}

}  // namespace
}  // namespace canopy::client
