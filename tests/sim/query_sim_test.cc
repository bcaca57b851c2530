// Tests of queries over simulated agents: facts that only one agent has, and
// agents that are lost or restarted during the query.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/codec/infos.h"
#include "common/status.h"
#include "common/values/info_list.h"
#include "pmix_common.h"
#include "server/core/query/queries.h"
#include "server/core/query/query_testing.h"
#include "tests/sim/cluster.h"

namespace canopy::sim {
namespace {

// Agents 0 to 3 have two ranks each; rank 6 is on agent 3.
class QuerySim : public testing::TestWithParam<uint32_t> {
 protected:
  QuerySim() : cluster_(4, GetParam(), 7, Persistence::kOn) {
    cluster_.LaunchConnected(MakeJob("job", 4, 2));
  }
  ~QuerySim() override {
    EXPECT_TRUE(cluster_.errors().empty()) << cluster_.errors().front();
  }

  RequestId Ask(Rank rank, std::vector<std::string> keys) {
    return cluster_.clients().Query({"job", rank},
                                    core::Encoded({{std::move(keys)}}));
  }
  InfoList AnswersTo(RequestId request) {
    InfoList infos;
    const Answer* answer = cluster_.clients().AnswerTo(request);
    if (answer != nullptr) {
      EXPECT_TRUE(DecodeInfos(answer->payload, &infos));
    }
    return infos;
  }
  // Returns the states by rank.
  std::vector<int> StatesIn(const InfoList& answers) {
    std::vector<int> states;
    if (answers.empty()) return states;
    const pmix_data_array_t& table = *answers[0].value.data.darray;
    const auto* rows = static_cast<const pmix_proc_info_t*>(table.array);
    for (size_t i = 0; i < table.size; ++i) states.push_back(rows[i].state);
    return states;
  }

  Cluster cluster_;
};

TEST_P(QuerySim, AProcessTableContainsTheProcessesOfAllNodes) {
  const RequestId request = Ask(6, {PMIX_QUERY_PROC_TABLE});
  cluster_.Run();
  EXPECT_EQ(cluster_.clients().StatusOf(request), kSuccess);
  const auto states = StatesIn(AnswersTo(request));
  ASSERT_EQ(states.size(), 8u);
  for (const int state : states) EXPECT_NE(state, PMIX_PROC_STATE_UNDEF);
}

TEST_P(QuerySim, AQueryOfNamespacesReturnsAllJobsOfTheRoot) {
  const RequestId request = Ask(6, {PMIX_QUERY_NAMESPACES});
  cluster_.Run();
  EXPECT_EQ(AnswersTo(request).FindString(PMIX_QUERY_NAMESPACES), "job");
}

TEST_P(QuerySim, RestartedAgentsGetTheRequestAgain) {
  const RequestId request = Ask(6, {PMIX_QUERY_PROC_TABLE});
  cluster_.RestartNode(1);
  cluster_.RunFor(core::kQueryTime * 2);
  EXPECT_EQ(cluster_.clients().StatusOf(request), kSuccess);
  EXPECT_EQ(StatesIn(AnswersTo(request)).size(), 8u);
}

TEST_P(QuerySim, TheCallerRepeatsItsQueryToTheSuccessor) {
  const RequestId request = Ask(6, {PMIX_QUERY_PROC_TABLE});
  cluster_.RestartNode(3);
  cluster_.RunFor(core::kQueryTime * 2);
  EXPECT_EQ(cluster_.clients().StatusOf(request), kSuccess);
}

INSTANTIATE_TEST_SUITE_P(Radix, QuerySim, testing::Values(2, 32));

}  // namespace
}  // namespace canopy::sim
