// Groups that libraries form by events: leaders that are not members, and
// bootstraps. The test plays the agent and all other processes.
#include <gtest/gtest.h>

#include <cstring>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "client/abi/client_fixture.h"
#include "common/codec/encoder.h"
#include "common/codec/infos.h"
#include "common/local/data.h"
#include "common/local/events.h"

namespace canopy::client {
namespace {

using local::FrameType;

constexpr size_t kContext = 4711;

// A kNotify frame that the agent has received.
struct Told {
  int64_t status = 0;
  std::vector<ProcId> receivers;
  InfoList infos;
};

Told Parse(const Request& request) {
  const auto notify = request.As<local::Notify>();
  Told told;
  told.status = notify.status;
  EXPECT_EQ(notify.range, PMIX_RANGE_CUSTOM);
  for (const ProcView& proc : notify.receivers) {
    told.receivers.push_back(OwnerOf(proc));
  }
  EXPECT_TRUE(DecodeInfos(notify.info, &told.infos));
  return told;
}

std::string Encoded(const InfoList& infos) {
  std::string out;
  EXPECT_EQ(EncodeInfos(infos.data(), infos.size(), &out), PMIX_SUCCESS);
  return out;
}

// The outcome of a call.
struct Result {
  static void Set(pmix_status_t status, pmix_info_t* info, size_t ninfo,
                  void* cbdata, pmix_release_cbfunc_t, void*) {
    auto* result = static_cast<Result*>(cbdata);
    result->infos = InfoList::FromC(info, ninfo);
    result->status.set_value(status);
  }
  int Wait() { return status.get_future().get(); }

  std::promise<int> status;
  InfoList infos;
};

class GroupFormingTest : public ClientTest {
 protected:
  GroupFormingTest() {
    InfoList results;
    results.Add(PMIX_GROUP_CONTEXT_ID, Value::Size(kContext));
    results.Add(PMIX_GROUP_MEMBERSHIP, Value::ProcArray(Ranks({0, 1, 2})));
    agent_->On(FrameType::kCollective,
               [=](FakeAgent& agent, const Request& request) {
                 agent.Reply(request, PMIX_SUCCESS, Encoded(results));
               });
  }
  ProcId At(Rank rank) const { return {agent_->nspace(), rank}; }
  std::vector<ProcId> Ranks(const std::vector<Rank>& ranks) const {
    std::vector<ProcId> procs;
    for (const Rank rank : ranks) procs.push_back(At(rank));
    return procs;
  }
  Told LastTold(size_t count) {
    return Parse(agent_->Await(FrameType::kNotify, count));
  }
  // Sends this process an event of another process.
  void Tell(int status, Rank source, InfoList infos = {}) {
    infos.Add(PMIX_GROUP_ID, Value::String("g"));
    infos.Add(PMIX_EVENT_NON_DEFAULT, Value::Bool(true));
    infos.Add(PMIX_EVENT_CUSTOM_RANGE, Value::ProcArray(Ranks({0})));
    agent_->SendEvent(status, At(source), PMIX_RANGE_CUSTOM, infos);
  }
  void AcceptFrom(Rank rank) {
    Tell(PMIX_GROUP_INVITE_ACCEPTED, rank, Flags({"canopy.grp.own"}));
  }
  InfoList Members(const std::vector<Rank>& ranks) {
    InfoList infos;
    infos.Add(PMIX_GROUP_MEMBERSHIP, Value::ProcArray(Ranks(ranks)));
    return infos;
  }
  // Sends this process the first leader's invitation to a group of `ranks`.
  void Bootstrap(Rank leader, const std::vector<Rank>& ranks) {
    InfoList infos = Members(ranks);
    infos.Add(PMIX_GROUP_BOOTSTRAP, Value::Size(2));
    Tell(PMIX_GROUP_INVITED, leader, std::move(infos));
  }
  // Begins the construct of a leader that adds rank 1.
  int Lead(size_t leaders, int timeout = 0) {
    InfoList infos;
    infos.Add(PMIX_GROUP_BOOTSTRAP, Value::Size(leaders));
    infos.Add(PMIX_GROUP_ADD_MEMBERS, Value::ProcArray(Ranks({1})));
    infos.Add(PMIX_GROUP_ASSIGN_CONTEXT_ID, Value::Bool(true));
    if (timeout != 0) infos.Add(PMIX_TIMEOUT, Value::Int(timeout));
    return PMIx_Group_construct_nb("g", &self_, 1, infos.data(), infos.size(),
                                   Result::Set, &result_);
  }
  int BeAdded() {
    return PMIx_Group_construct_nb("g", nullptr, 0, nullptr, 0, Result::Set,
                                   &result_);
  }
  // Returns the data that a leader has published, its number of leaders and its
  // members, and sets *key to the key.
  InfoList Published(size_t count, std::string* key) {
    const Request request = agent_->Await(FrameType::kPublish, count);
    InfoList infos;
    EXPECT_TRUE(DecodeInfos(request.As<local::Publish>().info, &infos));
    EXPECT_EQ(infos.FindUint(PMIX_PERSISTENCE), uint64_t{PMIX_PERSIST_PROC});
    *key = infos[0].key;
    return Array(infos[0].value);
  }
  static InfoList Array(const pmix_value_t& value) {
    const auto infos = InfosOf(value);
    return infos ? InfoList::FromC(infos->data(), infos->size()) : InfoList();
  }
  // Answers lookups with these leaders' data.
  void LetMeet(const std::vector<std::pair<Rank, InfoList>>& leaders) {
    Encoder encoder;
    encoder.PutSize(leaders.size());
    size_t index = 0;
    for (const auto& [rank, infos] : leaders) {
      const Value value = Value::InfoArray(infos);
      pmix_pdata_t one = {};
      one.proc = ToC(At(rank));
      std::strcpy(one.key, std::to_string(index++).c_str());
      one.value = value.raw();
      encoder.PutElement(PMIX_PDATA, &one);
    }
    agent_->On(FrameType::kLookup,
               [payload = encoder.Take()](FakeAgent& agent, const Request& r) {
                 agent.Reply(r, PMIX_SUCCESS, payload);
               });
  }
  InfoList OfLeader(size_t leaders, const std::vector<Rank>& ranks) {
    InfoList infos;
    infos.Add(PMIX_GROUP_BOOTSTRAP, Value::Size(leaders));
    infos.Add(PMIX_GROUP_ADD_MEMBERS, Value::ProcArray(Ranks(ranks)));
    return infos;
  }
  // Makes the agent reject the next `taken` publishes, as if their keys were
  // taken, and accept all later ones.
  void Take(size_t taken) {
    const size_t limit = agent_->Count(FrameType::kPublish) + taken;
    agent_->On(
        FrameType::kPublish, [limit](FakeAgent& agent, const Request& request) {
          const bool is_free = agent.Count(FrameType::kPublish) > limit;
          agent.Reply(request, is_free ? PMIX_SUCCESS : PMIX_ERR_DUPLICATE_KEY);
        });
  }

  Result result_;
};

TEST_F(GroupFormingTest, ALeaderThatIsNotAMemberWaitsForTheMembersReport) {
  const std::vector<pmix_proc_t> others = {ToC(At(1)), ToC(At(2))};
  const InfoList infos = Flags({PMIX_GROUP_ASSIGN_CONTEXT_ID});
  ASSERT_EQ(PMIx_Group_invite_nb("g", others.data(), 2, infos.data(), 1,
                                 Result::Set, &result_),
            PMIX_SUCCESS);
  EXPECT_EQ(LastTold(1).receivers, Ranks({1, 2}));
  AcceptFrom(1);
  AcceptFrom(2);
  const Told update = LastTold(2);
  EXPECT_EQ(update.status, PMIX_GROUP_MEMBERSHIP_UPDATE);
  EXPECT_EQ(update.infos.FindBool(PMIX_GROUP_ASSIGN_CONTEXT_ID), true);
  EXPECT_EQ(update.infos.FindBool("canopy.grp.reports"), true);
  // Only the first report counts.
  InfoList report;
  report.Add("canopy.grp.formed", Value::Int(PMIX_SUCCESS));
  report.Add(PMIX_GROUP_CONTEXT_ID, Value::Size(kContext));
  Tell(PMIX_GROUP_MEMBERSHIP_UPDATE, 2, report);
  Tell(PMIX_GROUP_MEMBERSHIP_UPDATE, 1, report);
  const Told complete = LastTold(3);
  EXPECT_EQ(complete.status, PMIX_GROUP_CONSTRUCT_COMPLETE);
  EXPECT_EQ(complete.receivers, Ranks({1, 2}));
  EXPECT_EQ(complete.infos.FindUint(PMIX_GROUP_CONTEXT_ID), kContext);
  EXPECT_EQ(result_.Wait(), PMIX_SUCCESS);
  const pmix_info_t* members = result_.infos.Find(PMIX_GROUP_MEMBERSHIP);
  ASSERT_NE(members, nullptr);
  EXPECT_EQ(ProcsOf(members->value)->size(), 2u);
  EXPECT_EQ(agent_->Count(FrameType::kCollective), 0u);
}

TEST_F(GroupFormingTest, ALeaderThatIsNotAMemberLearnsThatTheMembersFailed) {
  const pmix_proc_t other = ToC(At(1));
  ASSERT_EQ(
      PMIx_Group_invite_nb("g", &other, 1, nullptr, 0, Result::Set, &result_),
      PMIX_SUCCESS);
  AcceptFrom(1);
  EXPECT_EQ(LastTold(2).status, PMIX_GROUP_MEMBERSHIP_UPDATE);
  InfoList report;
  report.Add("canopy.grp.formed", Value::Int(PMIX_ERR_TIMEOUT));
  Tell(PMIX_GROUP_MEMBERSHIP_UPDATE, 1, report);
  EXPECT_EQ(LastTold(3).status, PMIX_GROUP_CONSTRUCT_ABORT);
  EXPECT_EQ(result_.Wait(), PMIX_ERR_TIMEOUT);
}

TEST_F(GroupFormingTest, ALeaderThatIsNotAMemberDoesNotWaitForMembersThatEnd) {
  const pmix_proc_t other = ToC(At(1));
  ASSERT_EQ(
      PMIx_Group_invite_nb("g", &other, 1, nullptr, 0, Result::Set, &result_),
      PMIX_SUCCESS);
  AcceptFrom(1);
  EXPECT_EQ(LastTold(2).status, PMIX_GROUP_MEMBERSHIP_UPDATE);
  Tell(PMIX_GROUP_INVITE_FAILED, 1);
  EXPECT_EQ(result_.Wait(), PMIX_GROUP_CONSTRUCT_ABORT);
}

TEST_F(GroupFormingTest, AMemberReportsToALeaderThatIsNotAMember) {
  const pmix_proc_t leader = ToC(At(3));
  ASSERT_EQ(PMIx_Group_join_nb("g", &leader, PMIX_GROUP_ACCEPT, nullptr, 0,
                               Result::Set, &result_),
            PMIX_SUCCESS);
  EXPECT_EQ(LastTold(1).status, PMIX_GROUP_INVITE_ACCEPTED);
  InfoList update = Members({0, 1, 2});
  update.Add("canopy.grp.reports", Value::Bool(true));
  update.Add(PMIX_GROUP_NOTIFY_TERMINATION, Value::Bool(true));
  Tell(PMIX_GROUP_MEMBERSHIP_UPDATE, 3, std::move(update));
  const Request construct = agent_->Await(FrameType::kCollective);
  EXPECT_NE(construct.payload.find(PMIX_GROUP_NOTIFY_TERMINATION),
            std::string::npos);
  const Told report = LastTold(2);
  EXPECT_EQ(report.receivers, Ranks({3}));
  EXPECT_EQ(report.infos.FindInt("canopy.grp.formed"), PMIX_SUCCESS);
  EXPECT_EQ(report.infos.FindUint(PMIX_GROUP_CONTEXT_ID), kContext);
  // No member is missing, so the leader knows the members without this report.
  EXPECT_FALSE(report.infos.Has(PMIX_GROUP_MEMBERSHIP));
  EXPECT_EQ(result_.Wait(), PMIX_SUCCESS);
}

TEST_F(GroupFormingTest, TheLeaderAndAllInvitedGetTheAbort) {
  const std::vector<pmix_proc_t> all = {self_, ToC(At(1)), ToC(At(2))};
  ASSERT_EQ(PMIx_Group_invite_nb("g", all.data(), 3, nullptr, 0, Result::Set,
                                 &result_),
            PMIX_SUCCESS);
  AcceptFrom(2);
  Tell(PMIX_GROUP_INVITE_DECLINED, 1);
  EXPECT_EQ(result_.Wait(), PMIX_GROUP_CONSTRUCT_ABORT);
  const Told abort = LastTold(2);
  EXPECT_EQ(abort.status, PMIX_GROUP_CONSTRUCT_ABORT);
  EXPECT_EQ(abort.receivers, Ranks({0, 1, 2}));
}

TEST_F(GroupFormingTest, TheFirstLeaderInvitesAllMembers) {
  LetMeet({{0, OfLeader(2, {0, 1})}, {2, OfLeader(2, {2})}});
  ASSERT_EQ(Lead(2), PMIX_SUCCESS);
  std::string key;
  EXPECT_EQ(Published(1, &key), OfLeader(2, {0, 1}));
  const Told invited = LastTold(1);
  EXPECT_EQ(invited.status, PMIX_GROUP_INVITED);
  EXPECT_EQ(invited.receivers, Ranks({1, 2}));
  EXPECT_EQ(invited.infos.FindUint(PMIX_GROUP_BOOTSTRAP), 2u);
  EXPECT_EQ(ProcsOf(invited.infos.Find(PMIX_GROUP_MEMBERSHIP)->value)->size(),
            3u);
  AcceptFrom(1);
  AcceptFrom(2);
  // The agents must not see directives that they would refuse.
  const Request construct = agent_->Await(FrameType::kCollective);
  EXPECT_EQ(construct.payload.find(PMIX_GROUP_BOOTSTRAP), std::string::npos);
  EXPECT_EQ(construct.payload.find(PMIX_GROUP_ADD_MEMBERS), std::string::npos);
  EXPECT_EQ(LastTold(3).status, PMIX_GROUP_CONSTRUCT_COMPLETE);
  // The leader has unpublished its key before the call ends.
  const Request removed = agent_->Await(FrameType::kUnpublish);
  EXPECT_NE(removed.payload.find(key), std::string::npos);
  EXPECT_EQ(result_.Wait(), PMIX_SUCCESS);
  EXPECT_EQ(result_.infos.FindUint(PMIX_GROUP_CONTEXT_ID), kContext);
}

TEST_F(GroupFormingTest, OtherLeadersAcceptTheInvitation) {
  Take(1);
  ASSERT_EQ(Lead(2), PMIX_SUCCESS);
  std::string key;
  (void)Published(2, &key);
  EXPECT_EQ(agent_->Count(FrameType::kLookup), 0u);
  Bootstrap(2, {0, 1, 2});
  // The leader first removes its key so that no later bootstrap reads it.
  const Request removed = agent_->Await(FrameType::kUnpublish);
  EXPECT_NE(removed.payload.find(key), std::string::npos);
  const Told accepted = LastTold(1);
  EXPECT_EQ(accepted.status, PMIX_GROUP_INVITE_ACCEPTED);
  EXPECT_EQ(accepted.receivers, Ranks({2}));
  Tell(PMIX_GROUP_MEMBERSHIP_UPDATE, 2, Members({0, 1, 2}));
  EXPECT_EQ(result_.Wait(), PMIX_SUCCESS);
}

TEST_F(GroupFormingTest, ALeaderDeclinesAGroupWithoutItsMembers) {
  Take(1);
  ASSERT_EQ(Lead(2), PMIX_SUCCESS);
  std::string key;
  (void)Published(2, &key);
  Bootstrap(2, {0, 2});
  EXPECT_EQ(LastTold(1).status, PMIX_GROUP_INVITE_DECLINED);
  Bootstrap(3, {0, 1, 3});
  EXPECT_EQ(LastTold(2).status, PMIX_GROUP_INVITE_ACCEPTED);
  Tell(PMIX_GROUP_CONSTRUCT_ABORT, 3);
  EXPECT_EQ(result_.Wait(), PMIX_GROUP_CONSTRUCT_ABORT);
}

TEST_F(GroupFormingTest,
       AnAddedMemberMayCallConstructBeforeOrAfterTheInvitation) {
  ASSERT_EQ(BeAdded(), PMIX_SUCCESS);
  Bootstrap(2, {0, 1, 2});
  EXPECT_EQ(LastTold(1).status, PMIX_GROUP_INVITE_ACCEPTED);
  Tell(PMIX_GROUP_MEMBERSHIP_UPDATE, 2, Members({0, 1, 2}));
  EXPECT_EQ(result_.Wait(), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Group_destruct("g", nullptr, 0), PMIX_SUCCESS);
  // The library has subscribed to invitations since the first call, so the
  // second invitation may come before the second call.
  Bootstrap(2, {0, 1, 2});
  result_ = Result();
  ASSERT_EQ(BeAdded(), PMIX_SUCCESS);
  EXPECT_EQ(LastTold(2).status, PMIX_GROUP_INVITE_ACCEPTED);
  Tell(PMIX_GROUP_MEMBERSHIP_UPDATE, 2, Members({0, 1, 2}));
  EXPECT_EQ(result_.Wait(), PMIX_SUCCESS);
}

TEST_F(GroupFormingTest, AnAddedMemberGetsAnAbortThatPrecedesItsCall) {
  // This call subscribes to the events of the invitation.
  ASSERT_EQ(BeAdded(), PMIX_SUCCESS);
  Bootstrap(2, {0, 1, 2});
  Tell(PMIX_GROUP_CONSTRUCT_ABORT, 2);
  EXPECT_EQ(result_.Wait(), PMIX_GROUP_CONSTRUCT_ABORT);
  Bootstrap(2, {0, 1, 2});
  Tell(PMIX_GROUP_CONSTRUCT_ABORT, 2);
  result_ = Result();
  ASSERT_EQ(BeAdded(), PMIX_SUCCESS);
  EXPECT_EQ(result_.Wait(), PMIX_GROUP_CONSTRUCT_ABORT);
  // The next call waits for the next invitation.
  result_ = Result();
  ASSERT_EQ(BeAdded(), PMIX_SUCCESS);
  Bootstrap(2, {0, 1, 2});
  EXPECT_EQ(LastTold(2).status, PMIX_GROUP_INVITE_ACCEPTED);
  Tell(PMIX_GROUP_MEMBERSHIP_UPDATE, 2, Members({0, 1, 2}));
  EXPECT_EQ(result_.Wait(), PMIX_SUCCESS);
}

TEST_F(GroupFormingTest, LeadersThatDisagreeOnTheirNumberFail) {
  LetMeet({{0, OfLeader(2, {0, 1})}, {2, OfLeader(3, {2})}});
  ASSERT_EQ(Lead(2), PMIX_SUCCESS);
  const Told abort = LastTold(1);
  EXPECT_EQ(abort.status, PMIX_GROUP_CONSTRUCT_ABORT);
  EXPECT_EQ(abort.receivers, Ranks({2}));
  EXPECT_EQ(result_.Wait(), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(agent_->Count(FrameType::kUnpublish), 1u);
  // Now this process is the other leader, which receives the abort.
  Take(1);
  result_ = Result();
  ASSERT_EQ(Lead(2), PMIX_SUCCESS);
  std::string key;
  (void)Published(3, &key);
  InfoList marked;
  marked.Add(PMIX_GROUP_BOOTSTRAP, Value::Size(3));
  Tell(PMIX_GROUP_CONSTRUCT_ABORT, 2, std::move(marked));
  EXPECT_EQ(result_.Wait(), PMIX_GROUP_CONSTRUCT_ABORT);
}

TEST_F(GroupFormingTest, MoreLeadersThanAnnouncedFail) {
  Take(2);
  ASSERT_EQ(Lead(2), PMIX_SUCCESS);
  EXPECT_EQ(result_.Wait(), PMIX_ERR_EXISTS);
  EXPECT_EQ(agent_->Count(FrameType::kPublish), 2u);
}

TEST_F(GroupFormingTest, TheTimeLimitAppliesToLeadersAndToAddedMembers) {
  agent_->On(FrameType::kLookup, [](FakeAgent& agent, const Request& request) {
    agent.Reply(request, PMIX_ERR_TIMEOUT);
  });
  ASSERT_EQ(Lead(2, 3), PMIX_SUCCESS);
  EXPECT_EQ(result_.Wait(), PMIX_ERR_TIMEOUT);
  const Request lookup = agent_->Await(FrameType::kLookup);
  EXPECT_NE(lookup.payload.find(PMIX_TIMEOUT), std::string::npos);
  // An added member waits until its agent reports that the time limit has
  // passed.
  agent_->On(FrameType::kGroupCall,
             [](FakeAgent& agent, const Request& request) {
               agent.Reply(request, PMIX_ERR_TIMEOUT);
             });
  InfoList limit;
  limit.Add(PMIX_TIMEOUT, Value::Int(1));
  EXPECT_EQ(
      PMIx_Group_construct("g", nullptr, 0, limit.data(), 1, nullptr, nullptr),
      PMIX_ERR_TIMEOUT);
}

TEST_F(GroupFormingTest, WrongArgumentsAreRejected) {
  InfoList none;
  none.Add(PMIX_GROUP_BOOTSTRAP, Value::Size(0));
  InfoList many;
  many.Add(PMIX_GROUP_BOOTSTRAP, Value::Size(257));
  InfoList text;
  text.Add(PMIX_GROUP_ADD_MEMBERS, Value::String("all"));
  const pmix_proc_t other = ToC(At(1));
  const auto construct = [](const pmix_proc_t* procs, const InfoList& infos) {
    return PMIx_Group_construct("g", procs, procs == nullptr ? 0 : 1,
                                infos.data(), infos.size(), nullptr, nullptr);
  };
  EXPECT_EQ(construct(&self_, none), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(construct(&self_, many), PMIX_ERR_OUT_OF_RESOURCE);
  EXPECT_EQ(construct(&self_, text), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(construct(&other, many), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(construct(nullptr, many), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(agent_->Count(FrameType::kPublish), 0u);
}

TEST_F(GroupFormingTest, AGroupIdMustEqualTheName) {
  const pmix_proc_t other = ToC(At(1));
  const auto id = [](const char* name) {
    InfoList infos;
    infos.Add(PMIX_GROUP_ID, Value::String(name), PMIX_INFO_REQD);
    return infos;
  };
  const auto decline = [&](const InfoList& infos) {
    Result result;
    EXPECT_EQ(PMIx_Group_join_nb("g", &other, PMIX_GROUP_DECLINE, infos.data(),
                                 infos.size(), Result::Set, &result),
              PMIX_SUCCESS);
    return result.Wait();
  };
  EXPECT_EQ(decline(id("h")), PMIX_ERR_BAD_PARAM);
  InfoList wrong = id("h");
  ASSERT_EQ(PMIx_Group_invite_nb("g", &other, 1, wrong.data(), 1, Result::Set,
                                 &result_),
            PMIX_SUCCESS);
  EXPECT_EQ(result_.Wait(), PMIX_ERR_BAD_PARAM);
  wrong.Add(PMIX_GROUP_BOOTSTRAP, Value::Size(1));
  EXPECT_EQ(
      PMIx_Group_construct("g", &self_, 1, wrong.data(), 2, nullptr, nullptr),
      PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(agent_->Count(FrameType::kNotify), 0u);
  EXPECT_EQ(decline(id("g")), PMIX_SUCCESS);
}

}  // namespace
}  // namespace canopy::client
