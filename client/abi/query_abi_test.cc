#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "client/abi/client_fixture.h"
#include "common/codec/decoder.h"
#include "common/codec/infos.h"
#include "common/local/calls.h"
#include "common/support/ignored_directives.h"
#include "pmix_server.h"

namespace canopy::client {
namespace {

using local::FrameType;

// A pmix_query_t with strings that the test owns.
struct OneQuery {
  OneQuery(std::vector<std::string> k, InfoList q = {})
      : keys(std::move(k)), qualifiers(std::move(q)) {
    for (std::string& key : keys) pointers.push_back(key.data());
    pointers.push_back(nullptr);
  }
  pmix_query_t raw() {
    return {pointers.data(), qualifiers.mutable_data(), qualifiers.size()};
  }

  std::vector<std::string> keys;
  InfoList qualifiers;
  std::vector<char*> pointers;
};

class QueryTest : public ClientTest {
 protected:
  int Ask(std::vector<pmix_query_t> queries) {
    pmix_info_t* results = nullptr;
    size_t count = 7;
    const int status =
        PMIx_Query_info(queries.data(), queries.size(), &results, &count);
    answer_ = InfoList();
    for (size_t i = 0; i < count; ++i) answer_.Adopt(&results[i]);
    free(results);
    return status;
  }
  int Ask(OneQuery query) { return Ask(std::vector{query.raw()}); }

  // Makes the agent answer each request with `answer`, and counts the requests.
  void Answer(int status, const InfoList& answer) {
    agent_->On(FrameType::kQuery, [this, status, answer](
                                      FakeAgent& agent,
                                      const Request& request) {
      std::string payload;
      EXPECT_EQ(EncodeInfos(answer.data(), answer.size(), &payload), kSuccess);
      ++requests_;
      agent.Reply(request, status, payload);
    });
  }

  InfoList answer_;
  std::atomic<int> requests_ = 0;
};

TEST_F(QueryTest, TheQualifiersOfAKeyAreNotCachedAsItsValue) {
  Answer(kSuccess, {{PMIX_QUERY_JOB_STATUS, Value::String("pmix.nspace")}});
  EXPECT_EQ(Ask({{PMIX_QUERY_SUPPORTED_QUALIFIERS, PMIX_QUERY_JOB_STATUS}}),
            PMIX_ERR_PARTIAL_SUCCESS);
  Answer(kSuccess, {{PMIX_QUERY_JOB_STATUS, Value::String("running")}});
  EXPECT_EQ(Ask({{PMIX_QUERY_JOB_STATUS}}), PMIX_SUCCESS);
  EXPECT_EQ(answer_.FindString(PMIX_QUERY_JOB_STATUS), "running");
}

TEST_F(QueryTest, AQueryReturnsTheInfosOfTheAgent) {
  Answer(kSuccess, {{PMIX_QUERY_NAMESPACES, Value::String("a,b")}});
  EXPECT_EQ(Ask({{PMIX_QUERY_NAMESPACES},
                 {{PMIX_QUERY_LOCAL_ONLY, Value::Bool(true)}}}),
            PMIX_SUCCESS);
  EXPECT_EQ(answer_.FindString(PMIX_QUERY_NAMESPACES), "a,b");
  const Request frame = agent_->Await(FrameType::kQuery);
  Decoder query(frame.As<local::Query>().queries);
  size_t n = 0;
  int32_t keys = 0;
  std::string_view key;
  ASSERT_TRUE(query.GetSize(&n) && query.GetInt32(&keys) &&
              query.GetString(&key));
  EXPECT_EQ(n, 1u);
  EXPECT_EQ(keys, 1);
  EXPECT_EQ(key, PMIX_QUERY_NAMESPACES);
}

// Rules QRY-02 and QRY-03 of tests/conformance/rules.tsv.
TEST_F(QueryTest, AQueryReportsWhetherSomeOrNoKeysWereAnswered) {
  Answer(kErrPartialSuccess, {{"b", Value::Int(1)}});
  EXPECT_EQ(Ask({{"a", "b"}}), PMIX_ERR_PARTIAL_SUCCESS);
  ASSERT_EQ(answer_.size(), 1u);
  EXPECT_EQ(KeyOf(answer_[0]), "b");
  Answer(kErrNotFound, {});
  EXPECT_EQ(Ask({{"c"}}), PMIX_ERR_NOT_FOUND);
  EXPECT_TRUE(answer_.empty());
  Answer(kErrTimeout, {});
  EXPECT_EQ(Ask({{"c"}}), PMIX_ERR_TIMEOUT);
}

// Rule QRY-10 of tests/conformance/rules.tsv.
TEST_F(QueryTest, AnAnswerIsCachedUntilARefreshIsRequested) {
  Answer(kSuccess, {{"k", Value::Int(1)}});
  EXPECT_EQ(Ask({{"k"}}), PMIX_SUCCESS);
  Answer(kSuccess, {{"k", Value::Int(2)}});
  EXPECT_EQ(Ask({{"k"}}), PMIX_SUCCESS);
  EXPECT_EQ(answer_.FindInt("k"), 1);
  EXPECT_EQ(Ask({{"k"}, Flags({PMIX_QUERY_REFRESH_CACHE})}), PMIX_SUCCESS);
  EXPECT_EQ(answer_.FindInt("k"), 2);
  EXPECT_EQ(Ask({{"k"}}), PMIX_SUCCESS);
  EXPECT_EQ(answer_.FindInt("k"), 2) << "refreshed";
  EXPECT_EQ(requests_, 2);
  EXPECT_EQ(Ask({{"k"}, {{PMIX_RANK, Value::Rank(0)}}}), PMIX_SUCCESS);
  EXPECT_EQ(requests_, 3) << "of other qualifiers";
}

TEST_F(QueryTest, GetFindsTheAnswersOfQueries) {
  constexpr char kKey[] = PMIX_QUERY_NUM_PSETS;
  (void)Get(0, kKey);
  EXPECT_EQ(status_, PMIX_ERR_NOT_FOUND);
  Answer(kSuccess, {{kKey, Value::Int(3)}});
  EXPECT_EQ(Ask({{kKey}, {{PMIX_RANK, Value::Rank(0)}}}), PMIX_SUCCESS);
  (void)Get(0, kKey);
  EXPECT_EQ(status_, PMIX_ERR_NOT_FOUND) << "of other qualifiers";
  EXPECT_EQ(Ask({{kKey}}), PMIX_SUCCESS);
  EXPECT_EQ(Get(0, kKey), Value::Int(3));
  EXPECT_EQ(Get(kRankWildcard, kKey), Value::Int(3));
  (void)Get(1, kKey);
  EXPECT_EQ(status_, PMIX_ERR_NOT_FOUND) << "of another process";
}

TEST_F(QueryTest, DataThatGetFindsAreNotRequestedFromTheAgent) {
  Answer(kErrNotFound, {});
  EXPECT_EQ(Ask({{PMIX_JOB_SIZE, PMIX_RANK}}), PMIX_SUCCESS);
  EXPECT_EQ(answer_.FindUint(PMIX_RANK), 0u);
  EXPECT_EQ(requests_, 0);
  EXPECT_EQ(Ask({{PMIX_JOB_SIZE}, Flags({PMIX_QUERY_REFRESH_CACHE})}),
            PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(requests_, 1);
  // The agent must report that the qualifier has no effect on the key. So the
  // agent is asked, although the library has the value.
  EXPECT_EQ(Ask({{PMIX_JOB_SIZE}, Flags({PMIX_QUERY_REPORT_AVG})}),
            PMIX_ERR_NOT_FOUND);
  EXPECT_EQ(requests_, 2);
}

// Rule QRY-05 of tests/conformance/rules.tsv.
TEST_F(QueryTest, AnswersAreInTheOrderOfTheQueries) {
  agent_->On(FrameType::kQuery, [](FakeAgent& agent, const Request& request) {
    const bool first = request.As<local::Query>().queries.find("other") ==
                       std::string_view::npos;
    const InfoList answer{{"k", Value::Int(first ? 1 : 2)}};
    std::string payload;
    EXPECT_EQ(EncodeInfos(answer.data(), answer.size(), &payload), kSuccess);
    agent.Reply(request, kSuccess, payload);
  });
  OneQuery one({"k"});
  OneQuery two({"k"}, {{PMIX_NSPACE, Value::String("other")}});
  EXPECT_EQ(Ask({one.raw(), two.raw()}), PMIX_SUCCESS);
  ASSERT_EQ(answer_.size(), 2u);
  EXPECT_EQ(Int64Of(answer_[0].value), 1);
  EXPECT_EQ(Int64Of(answer_[1].value), 2);
}

// Rule QRY-08 of tests/conformance/rules.tsv.
TEST_F(QueryTest, MalformedQueriesAreRejected) {
  EXPECT_EQ(PMIx_Query_info(nullptr, 0, nullptr, nullptr), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(Ask(std::vector<pmix_query_t>()), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(Ask(OneQuery(std::vector<std::string>())), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(Ask({{"k"},
                 {{PMIX_PROCID, Value::Proc({"job", 1})},
                  {PMIX_RANK, Value::Rank(1)}}}),
            PMIX_ERR_BAD_PARAM);
}

// PRRTE's debuggers give the rank as a signed number.
TEST_F(QueryTest, ARankMayHaveAnyIntegerType) {
  for (const Value& all :
       {Value::Rank(PMIX_RANK_WILDCARD), Value::Uint32(PMIX_RANK_WILDCARD),
        Value::Int32(-2), Value::Int(-2)}) {
    EXPECT_EQ(Ask({{PMIX_JOB_SIZE}, {{PMIX_RANK, all}}}), PMIX_SUCCESS);
    EXPECT_EQ(answer_.FindUint(PMIX_JOB_SIZE), 4u);
  }
  EXPECT_EQ(Ask({{PMIX_JOB_SIZE}, {{PMIX_RANK, Value::Int32(-51)}}}),
            PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(Ask({{PMIX_JOB_SIZE}, {{PMIX_RANK, Value::String("2")}}}),
            PMIX_ERR_BAD_PARAM);
}

struct Outcome {
  static void Set(pmix_status_t status, pmix_info_t* infos, size_t count,
                  void* cbdata, pmix_release_cbfunc_t release, void* data) {
    const InfoList answers = InfoList::FromC(infos, count);
    if (release != nullptr) release(data);
    static_cast<Outcome*>(cbdata)->result.set_value({status, answers});
  }
  std::promise<std::pair<int, InfoList>> result;
};

// Rule QRY-14 of tests/conformance/rules.tsv.
TEST_F(QueryTest, ANonBlockingQueryReportsByItsCallback) {
  Answer(kSuccess, {{"k", Value::Int(1)}});
  OneQuery one({"k", PMIX_JOB_SIZE});
  OneQuery two({"k"}, Flags({PMIX_QUERY_REFRESH_CACHE}));
  pmix_query_t raw[] = {one.raw(), two.raw()};
  Outcome outcome;
  ASSERT_EQ(PMIx_Query_info_nb(raw, 2, Outcome::Set, &outcome), PMIX_SUCCESS);
  const auto [status, answers] = outcome.result.get_future().get();
  EXPECT_EQ(status, PMIX_SUCCESS);
  EXPECT_EQ(answers.size(), 3u);
  EXPECT_EQ(requests_, 2);
  Outcome here;
  OneQuery known({PMIX_JOB_SIZE});
  pmix_query_t last = known.raw();
  ASSERT_EQ(PMIx_Query_info_nb(&last, 1, Outcome::Set, &here), PMIX_SUCCESS);
  EXPECT_EQ(here.result.get_future().get().first, PMIX_SUCCESS);
}

// Rule QRY-11 of tests/conformance/rules.tsv.
TEST_F(QueryTest, SupportIsReportedForTheLibraryAndTheHost) {
  const InfoList host{{PMIX_HOST_ATTRIBUTES, Value::String("theirs")}};
  Answer(kSuccess, {{"PMIx_Get", Value::InfoArray(host)}});
  EXPECT_EQ(Ask({{PMIX_QUERY_ATTRIBUTE_SUPPORT, "PMIx_Get"},
                 Flags({PMIX_CLIENT_ATTRIBUTES})}),
            PMIX_SUCCESS);
  ASSERT_EQ(answer_.size(), 1u);
  EXPECT_EQ(requests_, 0);
  EXPECT_EQ(Ask({{PMIX_QUERY_ATTRIBUTE_SUPPORT, "PMIx_Get"}}), PMIX_SUCCESS);
  ASSERT_EQ(answer_.size(), 2u);
  EXPECT_EQ(requests_, 1);
  char name[] = "PMIx_Get";
  char known[] = "PMIX_TIMEOUT";
  char* attributes[] = {known, nullptr};
  EXPECT_EQ(PMIx_Register_attributes(name, attributes), PMIX_SUCCESS);
  EXPECT_EQ(PMIx_Register_attributes(name, attributes),
            PMIX_ERR_REPEAT_ATTR_REGISTRATION);
  EXPECT_EQ(PMIx_Register_attributes(nullptr, attributes), PMIX_ERR_BAD_PARAM);
  EXPECT_EQ(Ask({{PMIX_QUERY_ATTRIBUTE_SUPPORT, "PMIx_Get"},
                 Flags({PMIX_HOST_ATTRIBUTES})}),
            PMIX_SUCCESS);
  EXPECT_EQ(answer_.size(), 2u) << "the agent's, and what was declared";
}

TEST_F(QueryTest, UnknownQualifiersOfASupportQueryAreReportedOrRefused) {
  InfoList unknown = Flags({PMIX_CLIENT_ATTRIBUTES});
  unknown.Add("no.such.qualifier", Value::Bool(true));
  std::vector<std::string> reported;
  support::IgnoredDirectives::OfProcess().SetReport(
      [&](std::string_view function, std::string_view key) {
        reported.push_back(std::string(function) + " " + std::string(key));
      });
  EXPECT_EQ(Ask(OneQuery({PMIX_QUERY_ATTRIBUTE_SUPPORT, "PMIx_Get"}, unknown)),
            PMIX_SUCCESS);
  EXPECT_EQ(reported,
            std::vector<std::string>{"PMIx_Query_info no.such.qualifier"});
  support::IgnoredDirectives::OfProcess().End();
  unknown = Flags({PMIX_CLIENT_ATTRIBUTES});
  unknown.Add("no.such.qualifier", Value::Bool(true), PMIX_INFO_REQD);
  EXPECT_EQ(Ask(OneQuery({PMIX_QUERY_ATTRIBUTE_SUPPORT, "PMIx_Get"}, unknown)),
            PMIX_ERR_NOT_SUPPORTED);
}

TEST_F(QueryTest, OutsideOfInitOnlySupportCanBeQueried) {
  ASSERT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
  EXPECT_EQ(Ask({{PMIX_JOB_SIZE}}), PMIX_ERR_INIT);
  EXPECT_EQ(Ask({{PMIX_QUERY_ATTRIBUTE_SUPPORT, "PMIx_Get"},
                 Flags({PMIX_CLIENT_ATTRIBUTES, PMIX_CLIENT_FUNCTIONS})}),
            PMIX_SUCCESS);
  EXPECT_EQ(answer_.size(), 2u);
  EXPECT_EQ(Ask({{PMIX_QUERY_ATTRIBUTE_SUPPORT, "PMIx_Get"},
                 Flags({PMIX_HOST_ATTRIBUTES})}),
            PMIX_ERR_NOT_FOUND);
}

TEST_F(QueryTest, Qry12VersionsOfTheAbiAreReturnedAlsoAfterFinalize) {
  EXPECT_EQ(Ask({{PMIX_QUERY_STABLE_ABI_VERSION,
                  PMIX_QUERY_PROVISIONAL_ABI_VERSION}}),
            PMIX_SUCCESS);
  EXPECT_EQ(answer_.size(), 2u);
  EXPECT_EQ(requests_, 0);
  ASSERT_EQ(PMIx_Finalize(nullptr, 0), PMIX_SUCCESS);
  EXPECT_EQ(Ask({{PMIX_QUERY_STABLE_ABI_VERSION}}), PMIX_SUCCESS);
  EXPECT_EQ(answer_.FindString(PMIX_QUERY_STABLE_ABI_VERSION), "0.0");
  EXPECT_EQ(Ask({{PMIX_QUERY_STABLE_ABI_VERSION, PMIX_JOB_SIZE}}),
            PMIX_ERR_INIT);
}

}  // namespace
}  // namespace canopy::client
