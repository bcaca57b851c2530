#include <gtest/gtest.h>

#include <map>
#include <string>

#include "client/abi/client_fixture.h"
#include "common/codec/decoder.h"
#include "common/codec/stored_key.h"
#include "common/local/data.h"

namespace canopy::client {
namespace {

using local::FrameType;
using Committed = std::map<std::pair<uint64_t, std::string>, Value>;

Committed Parse(const Request& request) {
  Committed committed;
  const auto frame = request.As<local::Commit>();
  for (const auto& [scope, kvals] : frame.scopes) {
    Decoder decoder(kvals);
    KvalView kval;
    while (!decoder.AtEnd() && decoder.GetKval(&kval)) {
      if (IsStoredName(kval.key)) continue;  // tested in staged_puts_test.cc
      committed[{scope, std::string(kval.key)}] = *DecodeValue(kval.value);
    }
    EXPECT_TRUE(decoder.done());
  }
  return committed;
}

class PutTest : public ClientTest {};

TEST_F(PutTest, ACommitSendsThePutsSinceTheLastOne) {
  Put(PMIX_LOCAL, "l", Value::Int(1));
  Put(PMIX_REMOTE, "r", Value::Int(2));
  Put(PMIX_GLOBAL, "g", Value::String("x"));
  Put(PMIX_INTERNAL, "i", Value::Int(4));
  EXPECT_EQ(agent_->Count(FrameType::kCommit), 0u);
  EXPECT_EQ(PMIx_Commit(), PMIX_SUCCESS);
  const Request request = agent_->Await(FrameType::kCommit);
  EXPECT_NE(request.tag, 0u) << "it may be refused";
  const Committed expected = {{{PMIX_LOCAL, "l"}, Value::Int(1)},
                              {{PMIX_REMOTE, "r"}, Value::Int(2)},
                              {{PMIX_GLOBAL, "g"}, Value::String("x")}};
  EXPECT_EQ(Parse(request), expected);
  Put(PMIX_GLOBAL, "g2", Value::Int(5));
  EXPECT_EQ(PMIx_Commit(), PMIX_SUCCESS);
  const Committed second = {{{PMIX_GLOBAL, "g2"}, Value::Int(5)}};
  EXPECT_EQ(Parse(agent_->Await(FrameType::kCommit, 2)), second);
}

TEST_F(PutTest, ACommitFailsIfTheAgentIsOutOfResources) {
  agent_->On(FrameType::kCommit, [](FakeAgent& agent, const Request& request) {
    agent.Reply(request, kErrOutOfResource);
  });
  Put(PMIX_GLOBAL, "k", Value::Int(1));
  EXPECT_EQ(PMIx_Commit(), PMIX_ERR_OUT_OF_RESOURCE);
}

TEST_F(PutTest, ACommitWithoutPutsSendsNoMessage) {
  EXPECT_EQ(PMIx_Commit(), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Fence(nullptr, 0, nullptr, 0), PMIX_SUCCESS);
  EXPECT_EQ(agent_->Count(FrameType::kCommit), 0u);
}

TEST_F(PutTest, TheLastPutOfAKeyReplacesEarlierOnes) {
  Put(PMIX_LOCAL, "k", Value::Int(1));
  Put(PMIX_GLOBAL, "k", Value::Int(2));
  EXPECT_EQ(Get(0, "k"), Value::Int(2));
  PMIx_Commit();
  const Committed expected = {{{PMIX_GLOBAL, "k"}, Value::Int(2)}};
  EXPECT_EQ(Parse(agent_->Await(FrameType::kCommit)), expected);
}

// Open MPI puts one key with several scopes when it uses UCX.
TEST_F(PutTest, AKeyMayHaveAValueForEachScope) {
  Put(PMIX_REMOTE, "k", Value::Int(1));
  Put(PMIX_LOCAL, "k", Value::Int(2));
  EXPECT_EQ(Get(0, "k"), Value::Int(2));
  PMIx_Commit();
  const Committed expected = {{{PMIX_REMOTE, "k"}, Value::Int(1)},
                              {{PMIX_LOCAL, "k"}, Value::Int(2)}};
  EXPECT_EQ(Parse(agent_->Await(FrameType::kCommit)), expected);
}

Value Qualified(const char* key, int number, const char* qualifier) {
  InfoList infos;
  infos.Add(key, Value::Int(number));
  infos.Add(qualifier, Value::Int(1), PMIX_INFO_QUALIFIER);
  return Value::InfoArray(infos);
}

InfoList Qualifier(const char* key, int number = 1) {
  InfoList infos;
  infos.Add(key, Value::Int(number), PMIX_INFO_QUALIFIER);
  return infos;
}

TEST_F(PutTest, QualifiedValuesOfOneKeyAreKeptApart) {
  EXPECT_EQ(Put(PMIX_GLOBAL, PMIX_QUALIFIED_VALUE, Qualified("k", 1, "a")),
            PMIX_SUCCESS);
  EXPECT_EQ(Put(PMIX_GLOBAL, PMIX_QUALIFIED_VALUE, Qualified("k", 2, "b")),
            PMIX_SUCCESS);
  EXPECT_EQ(Put(PMIX_GLOBAL, "k", Value::Int(3)), PMIX_SUCCESS);
  EXPECT_EQ(Get(0, "k", Qualifier("a")), Value::Int(1));
  EXPECT_EQ(Get(0, "k", Qualifier("b")), Value::Int(2));
  EXPECT_EQ(Get(0, "k"), Value::Int(3));
  Get(0, "k", Qualifier("a", 2));
  EXPECT_EQ(status_, PMIX_ERR_NOT_FOUND);
  Get(0, "k", Qualifier("c"));
  EXPECT_EQ(status_, PMIX_ERR_NOT_FOUND);
}

TEST_F(PutTest, AQualifiedValueWithoutQualifiersIsAnOrdinaryValue) {
  const InfoList plain = {{"k", Value::Int(1)}};
  EXPECT_EQ(Put(PMIX_GLOBAL, PMIX_QUALIFIED_VALUE, Value::InfoArray(plain)),
            PMIX_SUCCESS);
  EXPECT_EQ(Get(0, "k"), Value::Int(1));
}

TEST_F(PutTest, MalformedQualifiedValuesAreRejected) {
  const InfoList unmarked = {{"k", Value::Int(1)}, {"a", Value::Int(1)}};
  for (const Value& value :
       {Value::Int(1), Value::InfoArray(InfoList()), Qualified("", 1, "a"),
        Qualified(PMIX_JOB_SIZE, 1, "a"), Value::InfoArray(unmarked)}) {
    EXPECT_EQ(Put(PMIX_GLOBAL, PMIX_QUALIFIED_VALUE, value),
              PMIX_ERR_BAD_PARAM);
  }
}

TEST_F(PutTest, TheCallersValueIsCopied) {
  Value value = Value::String("before");
  Put(PMIX_GLOBAL, "k", value);
  value.mutable_raw()->data.string[0] = 'X';
  EXPECT_EQ(Get(0, "k"), Value::String("before"));
}

TEST_F(PutTest, MalformedPutsAreRejected) {
  EXPECT_EQ(Put(PMIX_GLOBAL, "pmix.key", Value::Int(1)), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(Put(PMIX_GLOBAL, "", Value::Int(1)), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(Put(PMIX_SCOPE_UNDEF, "k", Value::Int(1)), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(Put(77, "k", Value::Int(1)), PMIX_ERR_NOT_SUPPORTED);
  EXPECT_EQ(PMIx_Put(PMIX_DEL_LOCAL, PMIX_QUALIFIED_VALUE, nullptr),
            PMIX_ERR_NOT_SUPPORTED);
  EXPECT_EQ(PMIx_Put(PMIX_DEL_GLOBAL, PMIX_JOB_SIZE, nullptr),
            PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Put(PMIX_DEL_GLOBAL, "", nullptr), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Put(PMIX_DEL_INTERNAL + 1, "k", nullptr),
            PMIX_ERR_NOT_SUPPORTED);
  EXPECT_EQ(Put(PMIX_GLOBAL, "\x01k", Value::Int(1)), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Put(PMIX_GLOBAL, "k", nullptr), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Put(PMIX_GLOBAL, nullptr, nullptr), PMIX_ERR_BAD_PARAM);
  const std::string long_key(PMIX_MAX_KEYLEN + 1, 'k');
  EXPECT_EQ(Put(PMIX_GLOBAL, long_key.c_str(), Value::Int(1)),
            PMIX_ERR_BAD_PARAM);
}

TEST_F(PutTest, ADeletedKeyIsGoneAtOnce) {
  pmix_value_t* none = nullptr;
  Put(PMIX_GLOBAL, "k", Value::Int(1));
  EXPECT_EQ(PMIx_Put(PMIX_DEL_GLOBAL, "k", nullptr), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Get(&self_, "k", nullptr, 0, &none), PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(PMIx_Put(PMIX_DEL_GLOBAL, "never", nullptr), PMIX_SUCCESS);
  Put(PMIX_GLOBAL, "k", Value::Int(2));
  EXPECT_EQ(Get(0, "k"), Value::Int(2));
  // A key that is deleted for one side remains for the other.
  EXPECT_EQ(PMIx_Put(PMIX_DEL_LOCAL, "k", nullptr), PMIX_SUCCESS);
  EXPECT_EQ(Get(0, "k"), Value::Int(2));
  Put(PMIX_INTERNAL, "i", Value::Int(3));
  EXPECT_EQ(PMIx_Put(PMIX_DEL_GLOBAL, "i", nullptr), PMIX_SUCCESS);
  EXPECT_EQ(Get(0, "i"), Value::Int(3));
  EXPECT_EQ(PMIx_Put(PMIX_DEL_INTERNAL, "i", nullptr), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Get(&self_, "i", nullptr, 0, &none), PMIX_ERR_NOT_FOUND);
}

TEST_F(PutTest, ADeletionIsCommittedAsAnEmptyValue) {
  Put(PMIX_GLOBAL, "k", Value::Int(1));
  PMIx_Put(PMIX_DEL_GLOBAL, "k", nullptr);
  PMIx_Commit();
  const Committed expected = {{{PMIX_GLOBAL, "k"}, Value()}};
  EXPECT_EQ(Parse(agent_->Await(FrameType::kCommit)), expected);
}

TEST_F(PutTest, APutOfTheHostNameHasNoEffect) {
  EXPECT_EQ(Put(PMIX_GLOBAL, PMIX_HOSTNAME, Value::String("lie")),
            PMIX_SUCCESS);
  EXPECT_EQ(Get(0, PMIX_HOSTNAME), Value::String("here"));
}

TEST_F(PutTest, AProcessMayPutItsOwnBinding) {
  EXPECT_EQ(Put(PMIX_GLOBAL, PMIX_CPUSET, Value::String("3")), PMIX_SUCCESS);
  EXPECT_EQ(Get(0, PMIX_CPUSET), Value::String("3"));
  PMIx_Commit();
  const Committed expected = {{{PMIX_GLOBAL, PMIX_CPUSET}, Value::String("3")}};
  EXPECT_EQ(Parse(agent_->Await(FrameType::kCommit)), expected);
}

TEST_F(PutTest, DataOfStoreInternalStaysInThisProcess) {
  const pmix_proc_t peer = Proc(agent_->nspace(), 1);
  Value value = Value::Integer(PMIX_LOCTYPE, 7);
  EXPECT_EQ(PMIx_Store_internal(&peer, PMIX_LOCALITY, value.mutable_raw()),
            PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Store_internal(&self_, "opal.puri", value.mutable_raw()),
            PMIX_SUCCESS);
  EXPECT_EQ(Get(1, PMIX_LOCALITY), value);
  EXPECT_EQ(Get(1, PMIX_LOCALITY, Flags({PMIX_OPTIONAL})), value);
  PMIx_Commit();
  EXPECT_EQ(PMIx_Fence(nullptr, 0, nullptr, 0), PMIX_SUCCESS);
  EXPECT_EQ(agent_->Count(FrameType::kCommit), 0u);
  EXPECT_EQ(PMIx_Store_internal(&peer, nullptr, value.mutable_raw()),
            PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(PMIx_Store_internal(&peer, "k", nullptr), PMIX_ERR_BAD_PARAM);
}

TEST_F(PutTest, ACommitFailsIfTheAgentIsDead) {
  agent_->On(FrameType::kCollective,
             [](FakeAgent& agent, const Request&) { agent.Die(); });
  EXPECT_EQ(PMIx_Fence(nullptr, 0, nullptr, 0), PMIX_ERR_LOST_CONNECTION);
  Put(PMIX_GLOBAL, "k", Value::Int(1));
  EXPECT_EQ(PMIx_Commit(), PMIX_ERR_LOST_CONNECTION);
}

}  // namespace
}  // namespace canopy::client
