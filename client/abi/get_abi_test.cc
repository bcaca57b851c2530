#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <initializer_list>
#include <string>
#include <thread>
#include <utility>

#include "client/abi/client_fixture.h"
#include "common/codec/stored_key.h"
#include "common/local/calls.h"
#include "common/local/data.h"

namespace canopy::client {
namespace {

using local::FrameType;

constexpr Rank kAny = PMIX_RANK_WILDCARD;

struct AskedFor {
  ProcId proc;
  std::string key;
  bool immediate = false;
  bool refresh = false;
  uint64_t timeout_ms = 0;
};

AskedFor Parse(const Request& request) {
  const auto get = request.As<local::Get>();
  return {OwnerOf(get.target), std::string(get.key), get.immediate, get.refresh,
          get.timeout_ms};
}

class GetTest : public ClientTest {
 protected:
  // Makes the agent publish `value` for the rank when it receives a get, and
  // answer the get after that.
  void PublishWhenAsked(Rank rank, const std::string& key, const Value& value) {
    agent_->On(FrameType::kGet, [=](FakeAgent& agent, const Request& request) {
      agent.Publish(rank, {{key, value}});
      agent.Reply(request, kSuccess);
    });
  }
  size_t Asked() const { return agent_->Count(FrameType::kGet); }
};

TEST_F(GetTest, AnOptionalDirectiveThatIsIgnoredIsReportedOnce) {
  const InfoList unknown{{"some.directive", Value::Bool(true)}};
  EXPECT_EQ(Get(0, PMIX_JOB_SIZE, unknown), Value::Uint32(4));
  const Request request = agent_->Await(FrameType::kIgnored);
  const auto ignored = request.As<local::Ignored>();
  EXPECT_EQ(ignored.function, "PMIx_Get");
  EXPECT_EQ(ignored.key, "some.directive");
  EXPECT_EQ(request.tag, 0u) << "nobody waits for an answer";
  EXPECT_EQ(Get(1, PMIX_JOB_SIZE, unknown), Value::Uint32(4));
  const InfoList another{{"another.directive", Value::Bool(true)}};
  EXPECT_EQ(Get(1, PMIX_JOB_SIZE, another), Value::Uint32(4));
  agent_->Await(FrameType::kIgnored, 2);
  EXPECT_EQ(agent_->Count(FrameType::kIgnored), 2u);
}

TEST_F(GetTest, AWaitForMoreThanOneValueIsRefused) {
  const auto wait_for = [this](const Value& number) {
    InfoList infos;
    infos.Add(PMIX_WAIT, number, PMIX_INFO_REQD);
    Get(0, PMIX_JOB_SIZE, infos);
    return status_;
  };
  EXPECT_EQ(wait_for(Value::Int(0)), PMIX_SUCCESS);
  EXPECT_EQ(wait_for(Value::Int(1)), PMIX_SUCCESS);
  EXPECT_EQ(wait_for(Value::Int(2)), PMIX_ERR_NOT_SUPPORTED);
  EXPECT_EQ(wait_for(Value::String("all")), PMIX_ERR_BAD_PARAM);
}

TEST_F(GetTest, JobKeysAreFoundForTheWildcardAndForRanks) {
  EXPECT_EQ(Get(kAny, PMIX_JOB_SIZE), Value::Uint32(4));
  EXPECT_EQ(Get(0, PMIX_JOB_SIZE), Value::Uint32(4));
  EXPECT_EQ(Get(3, PMIX_JOB_SIZE), Value::Uint32(4));
  EXPECT_EQ(Asked(), 0u);
}

bool IsPrivateDirectory(const std::string& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
         (info.st_mode & 0777) == 0700;
}

TEST_F(GetTest, ARanksDirectoryIsMadeWhenItsNameIsRequested) {
  const std::string own = agent_->RankDirectory(0);
  const std::string other = agent_->RankDirectory(1);
  EXPECT_FALSE(IsPrivateDirectory(own));
  EXPECT_EQ(Get(0, PMIX_PROCDIR), Value::String(own));
  EXPECT_TRUE(IsPrivateDirectory(own));
  EXPECT_EQ(Get(0, PMIX_PROCDIR), Value::String(own)) << "again";
  EXPECT_FALSE(IsPrivateDirectory(other));
  EXPECT_EQ(Get(1, PMIX_PROCDIR), Value::String(other));
  EXPECT_TRUE(IsPrivateDirectory(other));
}

TEST_F(GetTest, ARanksDirectoryIsMadeWhenAllKeysAreRequested) {
  const pmix_proc_t self = Proc(agent_->nspace(), 0);
  Get(&self, nullptr, {}, &status_);
  EXPECT_EQ(status_, PMIX_SUCCESS);
  EXPECT_TRUE(IsPrivateDirectory(agent_->RankDirectory(0)));
}

TEST_F(GetTest, SessionKeysAreFound) {
  EXPECT_EQ(Get(kAny, PMIX_UNIV_SIZE), Value::Uint32(16));
  EXPECT_EQ(Get(0, PMIX_CLUSTER_ID), Value::String("cluster"));
  EXPECT_EQ(Get(kAny, PMIX_SESSION_ID), Value::Uint32(7));
}

TEST_F(GetTest, RealmDirectivesOverrideTheRealmOfTheKey) {
  EXPECT_EQ(Get(kAny, PMIX_NUM_NODES), Value::Uint32(2));
  EXPECT_EQ(Get(kAny, PMIX_NUM_NODES, Flags({PMIX_SESSION_INFO})),
            Value::Uint32(9));
  EXPECT_EQ(Get(kAny, PMIX_NUM_NODES, Flags({PMIX_JOB_INFO})),
            Value::Uint32(2));
  Get(kAny, PMIX_UNIV_SIZE, Flags({PMIX_JOB_INFO}));
  EXPECT_EQ(status_, PMIX_ERR_NOT_FOUND);
  Get(kAny, PMIX_JOB_SIZE, Flags({PMIX_JOB_INFO, PMIX_NODE_INFO}));
  EXPECT_EQ(status_, PMIX_ERR_BAD_PARAM);
}

TEST_F(GetTest, DataOfAnotherSessionAreNotFound) {
  InfoList infos = Flags({PMIX_SESSION_INFO});
  infos.Add(PMIX_SESSION_ID, Value::Uint32(7));
  EXPECT_EQ(Get(kAny, PMIX_UNIV_SIZE, infos), Value::Uint32(16));
  infos.Set(PMIX_SESSION_ID, Value::Uint32(8));
  Get(kAny, PMIX_UNIV_SIZE, infos);
  EXPECT_EQ(status_, PMIX_ERR_NOT_FOUND);
}

TEST_F(GetTest, ApplicationKeysAreReadFromTheRanksOrTheNamedApplication) {
  EXPECT_EQ(Get(3, PMIX_APP_SIZE), Value::Uint32(1));
  EXPECT_EQ(Get(kAny, PMIX_APP_SIZE), Value::Uint32(3));
  InfoList infos = Flags({PMIX_APP_INFO});
  infos.Add(PMIX_APPNUM, Value::Uint32(1));
  EXPECT_EQ(Get(0, PMIX_APP_SIZE, infos), Value::Uint32(1));
  infos.Set(PMIX_APPNUM, Value::Uint32(2));
  Get(0, PMIX_APP_SIZE, infos);
  EXPECT_EQ(status_, PMIX_ERR_NOT_FOUND);
}

TEST_F(GetTest, NodeKeysAreReadFromTheRanksNodeOrTheNamedNode) {
  EXPECT_EQ(Get(2, PMIX_HOSTNAME), Value::String("there"));
  EXPECT_EQ(Get(kAny, PMIX_HOSTNAME), Value::String("here"));
  EXPECT_EQ(Get(kAny, PMIX_LOCAL_PEERS), Value::String("0,1"));
  EXPECT_EQ(Get(3, PMIX_LOCAL_PEERS), Value::String("2,3"));
  InfoList infos = Flags({PMIX_NODE_INFO});
  infos.Add(PMIX_HOSTNAME, Value::String("there.site"));
  EXPECT_EQ(Get(kAny, PMIX_NODEID, infos), Value::Uint32(1));
  infos = Flags({PMIX_NODE_INFO});
  infos.Add(PMIX_NODEID, Value::Uint32(1));
  EXPECT_EQ(Get(kAny, PMIX_LOCAL_PEERS, infos), Value::String("2,3"));
  infos.Set(PMIX_NODEID, Value::Uint32(2));
  Get(kAny, PMIX_LOCAL_PEERS, infos);
  EXPECT_EQ(status_, PMIX_ERR_NOT_FOUND);
}

TEST_F(GetTest, DataOfANodeThatTheJobDoesNotUseAreFound) {
  InfoList infos = Flags({PMIX_NODE_INFO});
  infos.Add(PMIX_HOSTNAME, Value::String("elsewhere"));
  EXPECT_EQ(Get(kAny, PMIX_NODEID, infos), Value::Uint32(2));
  EXPECT_EQ(Get(kAny, PMIX_HOSTNAME, infos), Value::String("elsewhere"));
  EXPECT_EQ(Get(kAny, PMIX_LOCAL_SIZE, infos), Value::Uint32(0));
  infos = Flags({PMIX_NODE_INFO});
  infos.Add(PMIX_NODEID, Value::Uint32(2));
  EXPECT_EQ(Get(kAny, PMIX_HOSTNAME, infos), Value::String("elsewhere"));
  infos.Set(PMIX_NODEID, Value::Uint32(3));
  Get(kAny, PMIX_HOSTNAME, infos);
  EXPECT_EQ(status_, PMIX_ERR_NOT_FOUND);
  infos = Flags({PMIX_NODE_INFO});
  infos.Add(PMIX_HOSTNAME, Value::String("nowhere"));
  Get(kAny, PMIX_NODEID, infos);
  EXPECT_EQ(status_, PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(Asked(), 0u);
}

TEST_F(GetTest, ProcessKeysAreFoundForRanks) {
  EXPECT_EQ(Get(3, PMIX_LOCAL_RANK), Value::Uint16(1));
  EXPECT_EQ(Get(3, PMIX_APPNUM), Value::Uint32(1));
  EXPECT_EQ(Get(1, PMIX_LOCALITY_STRING), Value::String("hwloc:NM0:SK0"));
  Get(2, PMIX_LOCALITY_STRING);
  EXPECT_EQ(status_, PMIX_ERR_NOT_FOUND);
  Get(kAny, PMIX_LOCAL_RANK);
  EXPECT_EQ(status_, PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(Asked(), 0u);
}

TEST_F(GetTest, AProcessFindsItsOwnIdentity) {
  int status = 0;
  EXPECT_EQ(Get(nullptr, PMIX_PROCID, {}, &status),
            Value::Proc({agent_->nspace(), 0}));
  EXPECT_EQ(Get(nullptr, PMIX_RANK, {}, &status), Value::Rank(0));
  EXPECT_EQ(Get(nullptr, PMIX_NSPACE, {}, &status).AsString(),
            agent_->nspace());
}

TEST_F(GetTest, ReservedKeysOfTheOwnJobAreNotRequested) {
  Get(2, "pmix.no.such.key");
  EXPECT_EQ(status_, PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(Asked(), 0u);
}

TEST_F(GetTest, PublishedDataIsReadWithoutAMessage) {
  agent_->Publish(2, {{"key", Value::String("value")}});
  EXPECT_EQ(Get(2, "key"), Value::String("value"));
  EXPECT_EQ(Asked(), 0u);
}

TEST_F(GetTest, AbsentDataAreRequestedAndThenFoundInSharedMemory) {
  PublishWhenAsked(2, "key", Value::Uint64(42));
  EXPECT_EQ(Get(2, "key"), Value::Uint64(42));
  const AskedFor asked = Parse(agent_->Await(FrameType::kGet));
  EXPECT_EQ(asked.proc, (ProcId{agent_->nspace(), 2}));
  EXPECT_EQ(asked.key, "key");
  EXPECT_FALSE(asked.immediate);
  EXPECT_FALSE(asked.refresh);
  EXPECT_EQ(Get(2, "key"), Value::Uint64(42));
  EXPECT_EQ(Asked(), 1u);
}

TEST_F(GetTest, DataThatAreNotInSharedMemoryComeWithTheReply) {
  agent_->On(FrameType::kGet, [](FakeAgent& agent, const Request& request) {
    agent.Reply(request, kSuccess,
                EncodeKvals({{"other", Value::Bool(true)},
                             {"key", Value::String("large")}}));
  });
  EXPECT_EQ(Get(2, "key"), Value::String("large"));
}

TEST_F(GetTest, ProcessFactsAreRequestedEachTime) {
  agent_->On(FrameType::kGet, [](FakeAgent& agent, const Request& request) {
    agent.Reply(request, kSuccess,
                EncodeKvals({{PMIX_PROC_PID, Value::Pid(4711)}}));
  });
  EXPECT_EQ(Get(2, PMIX_PROC_PID), Value::Pid(4711));
  EXPECT_EQ(Get(2, PMIX_PROC_PID), Value::Pid(4711));
  EXPECT_EQ(Asked(), 2u);
  EXPECT_EQ(Parse(agent_->Await(FrameType::kGet)).key, PMIX_PROC_PID);
  Get(2, PMIX_EXIT_CODE);
  EXPECT_EQ(status_, PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(Asked(), 3u);
  Get(2, PMIX_EXIT_CODE, Flags({PMIX_OPTIONAL}));
  Get(4, PMIX_PROC_PID);
  Get(kAny, PMIX_PROC_PID);
  EXPECT_EQ(Asked(), 3u);
}

TEST_F(GetTest, AnOptionalGetSendsNoRequest) {
  Get(2, "key", Flags({PMIX_OPTIONAL}));
  EXPECT_EQ(status_, PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(Asked(), 0u);
}

TEST_F(GetTest, AFlagThatIsFalseHasNoEffect) {
  InfoList infos;
  infos.Add(PMIX_OPTIONAL, Value::Bool(false));
  Get(2, "key", infos);
  EXPECT_EQ(Asked(), 1u);
}

TEST_F(GetTest, ImmediateAndTimeoutReachTheAgent) {
  InfoList infos = Flags({PMIX_IMMEDIATE});
  infos.Add(PMIX_TIMEOUT, Value::Int(3));
  agent_->On(FrameType::kGet, [](FakeAgent& agent, const Request& request) {
    agent.Reply(request, kErrTimeout);
  });
  Get(2, "key", infos);
  EXPECT_EQ(status_, PMIX_ERR_TIMEOUT);
  const AskedFor asked = Parse(agent_->Await(FrameType::kGet));
  EXPECT_TRUE(asked.immediate);
  EXPECT_EQ(asked.timeout_ms, 3000u);
}

TEST_F(GetTest, AKeyOutsideItsScopeHasAStatusOfItsOwn) {
  agent_->Publish(2, {{"shared", Value::Bool(true)}}, {"private"});
  Get(2, "private");
  EXPECT_EQ(status_, PMIX_ERR_EXISTS_OUTSIDE_SCOPE);
  EXPECT_EQ(Asked(), 0u);
}

TEST_F(GetTest, KeysOfTheProcessItselfAreNotRequested) {
  Get(0, "key");
  EXPECT_EQ(status_, PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(Asked(), 0u);
  ASSERT_EQ(Put(PMIX_GLOBAL, "key", Value::Int(5)), PMIX_SUCCESS);
  EXPECT_EQ(Get(0, "key"), Value::Int(5));
}

TEST_F(GetTest, DataScopeSelectsAmongOwnPuts) {
  Put(PMIX_LOCAL, "l", Value::Int(1));
  Put(PMIX_REMOTE, "r", Value::Int(2));
  Put(PMIX_INTERNAL, "i", Value::Int(3));
  const auto with = [](pmix_scope_t scope) {
    InfoList infos;
    infos.Add(PMIX_DATA_SCOPE, Value::Integer(PMIX_SCOPE, scope));
    return infos;
  };
  EXPECT_EQ(Get(0, "l", with(PMIX_LOCAL)), Value::Int(1));
  EXPECT_EQ(Get(0, "r", with(PMIX_REMOTE)), Value::Int(2));
  EXPECT_EQ(Get(0, "i", with(PMIX_INTERNAL)), Value::Int(3));
  Get(0, "l", with(PMIX_REMOTE));
  EXPECT_EQ(status_, PMIX_ERR_NOT_FOUND);
  Get(0, "i", with(PMIX_GLOBAL));
  EXPECT_EQ(status_, PMIX_ERR_NOT_FOUND);
}

TEST_F(GetTest, DataScopeSelectsAmongOwnPutsOfOneKey) {
  Put(PMIX_GLOBAL, "k", Value::Int(1));
  Put(PMIX_REMOTE, "k", Value::Int(2));
  Put(PMIX_LOCAL, "k", Value::Int(3));
  const auto with = [](pmix_scope_t scope) {
    InfoList infos;
    infos.Add(PMIX_DATA_SCOPE, Value::Integer(PMIX_SCOPE, scope));
    return infos;
  };
  EXPECT_EQ(Get(0, "k", with(PMIX_GLOBAL)), Value::Int(1));
  EXPECT_EQ(Get(0, "k", with(PMIX_REMOTE)), Value::Int(2));
  EXPECT_EQ(Get(0, "k", with(PMIX_LOCAL)), Value::Int(3));
}

TEST_F(GetTest, GlobalScopeExcludesDataOfOneSide) {
  const std::string name = ScopeNameOf("alone");
  for (const uint32_t rank : {1u, 2u}) {
    agent_->Publish(rank, {{"all", Value::Int(1)},
                           {"alone", Value::Int(2)},
                           {name, Value::Bool(true)}});
  }
  InfoList global;
  global.Add(PMIX_DATA_SCOPE, Value::Integer(PMIX_SCOPE, PMIX_GLOBAL));
  for (const uint32_t rank : {1u, 2u}) {
    EXPECT_EQ(Get(rank, "all", global), Value::Int(1));
    Get(rank, "alone", global);
    EXPECT_EQ(status_, PMIX_ERR_NOT_FOUND);
    EXPECT_EQ(Get(rank, "alone"), Value::Int(2));
    const InfoList all = {{"all", Value::Int(1)}};
    EXPECT_EQ(Get(rank, nullptr, global), Value::InfoArray(all));
  }
}

TEST_F(GetTest, DataScopeSelectsAmongPutsOfPeers) {
  const std::string name = ScopeNameOf("key");
  agent_->Publish(1, {{"key", Value::Int(1)},
                      {name, Value::Bool(true)},
                      {"all", Value::Int(3)},
                      {ScopeNameOf("all"), Value::Bool(false)}});
  agent_->Publish(2, {{"key", Value::Int(2)},
                      {name, Value::Bool(true)},
                      {"all", Value::Int(3)}});
  InfoList local;
  local.Add(PMIX_DATA_SCOPE, Value::Integer(PMIX_SCOPE, PMIX_LOCAL));
  EXPECT_EQ(Get(1, "key", local), Value::Int(1));
  Get(2, "key", local);
  EXPECT_EQ(status_, PMIX_ERR_NOT_FOUND);
  InfoList remote;
  remote.Add(PMIX_DATA_SCOPE, Value::Integer(PMIX_SCOPE, PMIX_REMOTE));
  EXPECT_EQ(Get(2, "key", remote), Value::Int(2));
  Get(1, "key", remote);
  EXPECT_EQ(status_, PMIX_ERR_NOT_FOUND);
  Get(1, "all", local);
  EXPECT_EQ(status_, PMIX_ERR_NOT_FOUND);
  Get(2, "all", remote);
  EXPECT_EQ(status_, PMIX_ERR_NOT_FOUND);
  // A get of all keys returns all values with the scope PMIX_REMOTE, and no
  // others.
  const InfoList key = {{"key", Value::Int(2)}};
  EXPECT_EQ(Get(2, nullptr, remote), Value::InfoArray(key));
  Get(1, nullptr, remote);
  EXPECT_EQ(status_, PMIX_ERR_NOT_FOUND);
}

InfoList Qualifiers(std::initializer_list<KeyValue> pairs) {
  InfoList infos;
  for (const KeyValue& pair : pairs) {
    infos.Add(pair.key, pair.value, PMIX_INFO_QUALIFIER);
  }
  return infos;
}

// Returns the stored form of a value with qualifiers.
std::pair<std::string, Value> Stored(const char* key, int number,
                                     const InfoList& qualifiers) {
  InfoList all = {{key, Value::Int(number)}};
  all.Append(qualifiers);
  return {QualifiedNameOf(key, qualifiers.span()), Value::InfoArray(all)};
}

TEST_F(GetTest, QualifiersSelectAValue) {
  const InfoList a = Qualifiers({{"a", Value::Int(1)}});
  const InfoList both =
      Qualifiers({{"a", Value::Int(2)}, {"b", Value::Int(2)}});
  const auto [one, first] = Stored("key", 1, a);
  const auto [two, second] = Stored("key", 2, both);
  agent_->Publish(2, {{one, first}, {two, second}, {"key", Value::Int(3)}});
  EXPECT_EQ(Get(2, "key", a), Value::Int(1));
  EXPECT_EQ(Get(2, "key", both), Value::Int(2));
  EXPECT_EQ(Get(2, "key", Qualifiers({{"b", Value::Int(2)}})), Value::Int(2));
  EXPECT_EQ(Get(2, "key"), Value::Int(3));
  EXPECT_EQ(Asked(), 0u);
  InfoList none = Qualifiers({{"b", Value::Int(1)}});
  none.Add(PMIX_OPTIONAL, Value::Bool(true));
  Get(2, "key", none);
  EXPECT_EQ(status_, PMIX_ERR_NOT_FOUND);
  Get(2, nullptr, a);
  EXPECT_EQ(status_, PMIX_ERR_NOT_SUPPORTED);
}

TEST_F(GetTest, AQualifiedValueIsRequestedByItsStoredName) {
  const InfoList a = Qualifiers({{"a", Value::Int(1)}});
  const auto [name, value] = Stored("key", 1, a);
  PublishWhenAsked(2, name, value);
  EXPECT_EQ(Get(2, "key", a), Value::Int(1));
  EXPECT_EQ(Parse(agent_->Await(FrameType::kGet)).key, name);
}

// A get does not wait for a reserved key, but the agent may have it.
TEST_F(GetTest, AReservedKeyOfAProcessIsRequestedOnce) {
  const InfoList context =
      Qualifiers({{PMIX_GROUP_CONTEXT_ID, Value::Size(7)}});
  const auto [name, value] = Stored(PMIX_GROUP_LOCAL_CID, 1, context);
  Get(2, PMIX_GROUP_LOCAL_CID, context);
  EXPECT_EQ(status_, PMIX_ERR_NOT_FOUND);
  const AskedFor asked = Parse(agent_->Await(FrameType::kGet));
  EXPECT_EQ(asked.key, "");
  EXPECT_TRUE(asked.refresh);
  PublishWhenAsked(2, name, value);
  EXPECT_EQ(Get(2, PMIX_GROUP_LOCAL_CID, context), Value::Int(1));
  EXPECT_EQ(Asked(), 2u);
  Get(2, PMIX_GROUP_LOCAL_CID);
  EXPECT_EQ(status_, PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(Asked(), 3u);
}

TEST_F(GetTest, JobKeysAreNotFoundWithQualifiers) {
  Get(kAny, PMIX_JOB_SIZE, Qualifiers({{"a", Value::Int(1)}}));
  EXPECT_EQ(status_, PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(Get(kAny, PMIX_JOB_SIZE,
                Qualifiers({{PMIX_JOB_INFO, Value::Bool(true)}})),
            Value::Uint32(4));
}

TEST_F(GetTest, AGetOfAllDataReturnsQualifiedValuesUnderTheGenericKey) {
  const auto [name, value] =
      Stored("key", 1, Qualifiers({{"a", Value::Int(1)}}));
  agent_->Publish(2, {{name, value}});
  const Value all = Get(2, nullptr, Flags({PMIX_OPTIONAL}));
  const auto infos = all.AsInfos();
  ASSERT_TRUE(infos);
  const pmix_info_t* one = FindInfo(*infos, PMIX_QUALIFIED_VALUE);
  ASSERT_NE(one, nullptr);
  EXPECT_EQ(Value::FromC(one->value), value);
}

TEST_F(GetTest, AGetOfTheWildcardFindsNoCommittedKeys) {
  Get(kAny, "key");
  EXPECT_EQ(status_, PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(Asked(), 0u);
  EXPECT_EQ(Get(kAny, "host.key"), Value::String("from the host"));
}

TEST_F(GetTest, AGetOfAnUndefinedRankFindsTheOwnerOfTheKey) {
  agent_->Publish(3, {{"unique", Value::Int(33)}});
  EXPECT_EQ(Get(PMIX_RANK_UNDEF, "unique"), Value::Int(33));
  EXPECT_EQ(Asked(), 0u);
  PublishWhenAsked(1, "later", Value::Int(11));
  EXPECT_EQ(Get(PMIX_RANK_UNDEF, "later"), Value::Int(11));
  EXPECT_EQ(Parse(agent_->Await(FrameType::kGet)).proc.rank, kRankUndef);
  Get(PMIX_RANK_UNDEF, "absent", Flags({PMIX_OPTIONAL}));
  EXPECT_EQ(status_, PMIX_ERR_NOT_FOUND);
}

TEST_F(GetTest, ARefreshRequestsDataAndThenReadsLocally) {
  agent_->Publish(2, {{"key", Value::Int(1)}});
  PublishWhenAsked(2, "key", Value::Int(2));
  EXPECT_EQ(Get(2, "key"), Value::Int(1));
  EXPECT_EQ(Get(2, "key", Flags({PMIX_GET_REFRESH_CACHE})), Value::Int(2));
  EXPECT_TRUE(Parse(agent_->Await(FrameType::kGet)).refresh);
  Get(2, "absent", Flags({PMIX_GET_REFRESH_CACHE}));
  EXPECT_EQ(status_, PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(Asked(), 2u);
}

TEST_F(GetTest, RefreshedDataThatDoesNotFitComesWithTheAnswer) {
  agent_->On(FrameType::kGet, [](FakeAgent& agent, const Request& request) {
    agent.Reply(request, kSuccess, EncodeKvals({{"key", Value::Int(3)}}));
  });
  EXPECT_EQ(Get(2, "key", Flags({PMIX_GET_REFRESH_CACHE})), Value::Int(3));
  agent_->On(FrameType::kGet, [](FakeAgent& agent, const Request& request) {
    agent.Reply(request, kErrUnreach);
  });
  Get(2, "key", Flags({PMIX_GET_REFRESH_CACHE}));
  EXPECT_EQ(status_, PMIX_ERR_UNREACH);
}

TEST_F(GetTest, ARefreshOfAllKeysAcceptsANullValuePointer) {
  const pmix_proc_t proc = Proc(agent_->nspace(), 2);
  const InfoList infos = Flags({PMIX_GET_REFRESH_CACHE});
  PublishWhenAsked(2, "key", Value::Int(2));
  EXPECT_EQ(PMIx_Get(&proc, nullptr, infos.data(), infos.size(), nullptr),
            PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Get(&proc, "key", nullptr, 0, nullptr), PMIX_ERR_BAD_PARAM);
}

TEST_F(GetTest, StaticValuesAreWrittenToTheCallersMemory) {
  const InfoList infos = Flags({PMIX_GET_STATIC_VALUES});
  pmix_value_t storage = {};
  pmix_value_t* value = &storage;
  EXPECT_EQ(PMIx_Get(&self_, PMIX_HOSTNAME, infos.data(), infos.size(), &value),
            PMIX_SUCCESS);
  EXPECT_EQ(value, &storage);
  EXPECT_EQ(Value::Adopt(&storage), Value::String("here"));
  value = nullptr;
  EXPECT_EQ(PMIx_Get(&self_, PMIX_HOSTNAME, infos.data(), infos.size(), &value),
            PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(
      PMIx_Get(&self_, PMIX_HOSTNAME, infos.data(), infos.size(), nullptr),
      PMIX_ERR_BAD_PARAM);
}

TEST_F(GetTest, PointerValuesStayValidAndKeepTheirAddress) {
  const InfoList infos = Flags({PMIX_GET_POINTER_VALUES});
  const pmix_proc_t proc = Proc(agent_->nspace(), 2);
  agent_->Publish(2, {{"key", Value::String("old")}});
  pmix_value_t* first = nullptr;
  pmix_value_t* second = nullptr;
  ASSERT_EQ(PMIx_Get(&proc, "key", infos.data(), infos.size(), &first),
            PMIX_SUCCESS);
  ASSERT_EQ(PMIx_Get(&proc, "key", infos.data(), infos.size(), &second),
            PMIX_SUCCESS);
  EXPECT_EQ(first, second);
  agent_->Publish(2, {{"key", Value::String("new")}});
  ASSERT_EQ(PMIx_Get(&proc, "key", infos.data(), infos.size(), &second),
            PMIX_SUCCESS);
  EXPECT_STREQ(second->data.string, "new");
  EXPECT_STREQ(first->data.string, "old");
}

TEST_F(GetTest, ANullKeyReturnsAllData) {
  agent_->On(FrameType::kGet, [](FakeAgent& agent, const Request& request) {
    agent.Publish(2, {{"a", Value::Int(1)}, {"b", Value::Int(2)}});
    agent.Reply(request, kSuccess);
  });
  const Value all = Get(2, nullptr);
  const auto infos = all.AsInfos();
  ASSERT_TRUE(infos.has_value());
  EXPECT_NE(FindInfo(*infos, "a"), nullptr);
  EXPECT_NE(FindInfo(*infos, "b"), nullptr);
  EXPECT_NE(FindInfo(*infos, PMIX_LOCAL_RANK), nullptr);
  const Value job = Get(kAny, nullptr);
  ASSERT_TRUE(job.AsInfos().has_value());
  EXPECT_NE(FindInfo(*job.AsInfos(), PMIX_JOB_SIZE), nullptr);
}

TEST_F(GetTest, JobDataOfAnotherNamespaceIsRequestedFromTheAgentOnce) {
  agent_->On(FrameType::kGet, [](FakeAgent& agent, const Request& request) {
    agent.OfferNamespace("job-2", 5);
    agent.Reply(request, kSuccess);
  });
  const pmix_proc_t proc = Proc("job-2", PMIX_RANK_WILDCARD);
  int status = 0;
  EXPECT_EQ(Get(&proc, PMIX_JOB_SIZE, {}, &status), Value::Uint32(5));
  EXPECT_EQ(Get(&proc, PMIX_JOB_SIZE, Flags({PMIX_OPTIONAL}), &status),
            Value::Uint32(5));
  Get(&proc, "pmix.unknown", {}, &status);
  EXPECT_EQ(status, PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(Asked(), 1u);
}

TEST_F(GetTest, AnOptionalGetOfAnUnknownNamespaceFails) {
  const pmix_proc_t proc = Proc("job-2", 0);
  int status = 0;
  Get(&proc, PMIX_JOB_SIZE, Flags({PMIX_OPTIONAL}), &status);
  EXPECT_EQ(status, PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(Asked(), 0u);
}

TEST_F(GetTest, MalformedCallsAreRejected) {
  Get(PMIX_RANK_INVALID, "key");
  EXPECT_EQ(status_, PMIX_ERR_BAD_PARAM);
  Get(PMIX_RANK_LOCAL_NODE, "key");
  EXPECT_EQ(status_, PMIX_ERR_BAD_PARAM);
  const std::string long_key(PMIX_MAX_KEYLEN + 1, 'k');
  Get(2, long_key.c_str());
  EXPECT_EQ(status_, PMIX_ERR_BAD_PARAM);
  Get(4, "key");
  EXPECT_EQ(status_, PMIX_ERR_NOT_FOUND);
  InfoList infos;
  infos.Add(PMIX_TIMEOUT, Value::Int(-1));
  Get(2, "key", infos);
  EXPECT_EQ(status_, PMIX_ERR_BAD_PARAM);
  pmix_value_t* value = nullptr;
  EXPECT_EQ(PMIx_Get(&self_, "key", nullptr, 1, &value), PMIX_ERR_BAD_PARAM);
}

TEST_F(GetTest, AnUnknownRequiredDirectiveIsRefused) {
  InfoList infos;
  infos.Add("no.such.directive", Value::Bool(true));
  EXPECT_EQ(Get(kAny, PMIX_JOB_SIZE, infos), Value::Uint32(4));
  infos.Clear();
  infos.Add("no.such.directive", Value::Bool(true), PMIX_INFO_REQD);
  Get(kAny, PMIX_JOB_SIZE, infos);
  EXPECT_EQ(status_, PMIX_ERR_NOT_SUPPORTED);
}

struct NbResult {
  std::promise<int> status;
  Value value;
  std::thread::id thread;
};

void OnValue(pmix_status_t status, pmix_value_t* value, void* cbdata) {
  auto* result = static_cast<NbResult*>(cbdata);
  if (value != nullptr) result->value = Value::FromC(*value);
  result->thread = std::this_thread::get_id();
  result->status.set_value(status);
}

TEST_F(GetTest, ANonBlockingGetReturnsLocalDataByItsCallback) {
  NbResult result;
  ASSERT_EQ(PMIx_Get_nb(&self_, PMIX_HOSTNAME, nullptr, 0, OnValue, &result),
            PMIX_SUCCESS);
  EXPECT_EQ(result.status.get_future().get(), PMIX_SUCCESS);
  EXPECT_EQ(result.value, Value::String("here"));
  EXPECT_NE(result.thread, std::this_thread::get_id());
}

TEST_F(GetTest, ANonBlockingGetWaitsForItsValue) {
  PublishWhenAsked(2, "key", Value::Int(2));
  NbResult result;
  const pmix_proc_t proc = Proc(agent_->nspace(), 2);
  ASSERT_EQ(PMIx_Get_nb(&proc, "key", nullptr, 0, OnValue, &result),
            PMIX_SUCCESS);
  EXPECT_EQ(result.status.get_future().get(), PMIX_SUCCESS);
  EXPECT_EQ(result.value, Value::Int(2));
}

TEST_F(GetTest, MalformedNonBlockingGetsAreRejected) {
  NbResult result;
  const InfoList infos = Flags({PMIX_GET_STATIC_VALUES});
  EXPECT_EQ(
      PMIx_Get_nb(&self_, "key", infos.data(), infos.size(), OnValue, &result),
      PMIX_ERR_NOT_SUPPORTED);
  EXPECT_EQ(PMIx_Get_nb(&self_, "key", nullptr, 0, nullptr, nullptr),
            PMIX_ERR_BAD_PARAM);
}

TEST_F(GetTest, ANonBlockingGetReportsAnAbsentKeyByItsCallback) {
  NbResult result;
  ASSERT_EQ(PMIx_Get_nb(&self_, "pmix.none", nullptr, 0, OnValue, &result),
            PMIX_SUCCESS);
  EXPECT_EQ(result.status.get_future().get(), PMIX_ERR_NOT_FOUND);
  EXPECT_TRUE(result.value.empty());
  EXPECT_NE(result.thread, std::this_thread::get_id());
}

TEST_F(GetTest, AGetOfAnInvalidRankReturnsTheCallersRank) {
  for (const std::string& nspace : {agent_->nspace(), std::string()}) {
    const pmix_proc_t proc = Proc(nspace, PMIX_RANK_INVALID);
    EXPECT_EQ(Get(&proc, PMIX_RANK, {}, &status_), Value::Rank(0));
    EXPECT_EQ(status_, PMIX_SUCCESS);
    Get(&proc, PMIX_HOSTNAME, {}, &status_);
    EXPECT_EQ(status_, PMIX_ERR_BAD_PARAM);
  }
  const pmix_proc_t other = Proc("job-2", PMIX_RANK_INVALID);
  Get(&other, PMIX_RANK, {}, &status_);
  EXPECT_EQ(status_, PMIX_ERR_BAD_PARAM);
}

TEST_F(GetTest, ABlockedGetEndsWhenTheAgentDies) {
  agent_->On(FrameType::kGet,
             [](FakeAgent& agent, const Request&) { agent.Die(); });
  Get(2, "key");
  EXPECT_EQ(status_, PMIX_ERR_LOST_CONNECTION);
  Get(2, "key");
  EXPECT_EQ(status_, PMIX_ERR_LOST_CONNECTION);
  EXPECT_EQ(Get(kAny, PMIX_JOB_SIZE), Value::Uint32(4));
}

TEST_F(GetTest, ManyThreadsShareTheConnection) {
  agent_->On(FrameType::kGet, [](FakeAgent& agent, const Request& request) {
    const std::string key(request.As<local::Get>().key);
    agent.Reply(request, kSuccess,
                EncodeKvals({{key, Value::String("of " + key)}}));
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      const pmix_proc_t proc = Proc(agent_->nspace(), 2);
      for (int i = 0; i < 50; ++i) {
        const std::string key =
            "key." + std::to_string(t) + "." + std::to_string(i);
        int status = 0;
        const Value value = Get(&proc, key.c_str(), {}, &status);
        EXPECT_EQ(value, Value::String("of " + key)) << status;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace canopy::client
