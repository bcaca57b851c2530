#include "server/openpmix/queries.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "common/growth_testing.h"
#include "server/openpmix/openpmix_testing.h"

namespace canopy::openpmix {
namespace {

class QueriesTest : public ::testing::Test {
 protected:
  QueriesTest() : segment_(*job_) {
    jobs_ = {{job_.get(), segment_.reader(), {{0, getpid()}, {1, 0}}}};
  }

  int Ask(std::vector<std::string> keys, InfoList qualifiers = {}) {
    results_ = InfoList();
    return AnswerQueries({{std::move(keys), std::move(qualifiers)}},
                         {kTestJob, 0}, jobs_, &results_);
  }

  std::shared_ptr<const JobSpec> job_ = MakeTestJob();
  TestSegment segment_;
  std::vector<KnownJob> jobs_;
  InfoList results_;
};

TEST_F(QueriesTest, Namespaces) {
  EXPECT_EQ(Ask({PMIX_QUERY_NAMESPACES}), kSuccess);
  EXPECT_EQ(results_.FindString(PMIX_QUERY_NAMESPACES), kTestJob);
}

TEST_F(QueriesTest, JobAndSessionKeys) {
  EXPECT_EQ(Ask({PMIX_JOB_SIZE, PMIX_UNIV_SIZE}), kSuccess);
  EXPECT_EQ(results_.FindUint(PMIX_JOB_SIZE), 3u);
  EXPECT_EQ(results_.FindUint(PMIX_UNIV_SIZE), 8u);
  EXPECT_EQ(Ask({PMIX_JOB_SIZE}, {{PMIX_NSPACE, Value::String(kTestJob)}}),
            kSuccess);
}

TEST_F(QueriesTest, ProcessTables) {
  EXPECT_EQ(Ask({PMIX_QUERY_PROC_TABLE}), kSuccess);
  const pmix_data_array_t* table = results_[0].value.data.darray;
  ASSERT_EQ(table->size, 3u);
  const auto* rows = static_cast<const pmix_proc_info_t*>(table->array);
  EXPECT_EQ(rows[0].pid, getpid());
  EXPECT_EQ(rows[0].state, PMIX_PROC_STATE_RUNNING);
  EXPECT_STREQ(rows[0].executable_name, "a.out");
  EXPECT_EQ(rows[1].state, PMIX_PROC_STATE_PREPPED);
  EXPECT_STREQ(rows[2].hostname, "node2");
  EXPECT_EQ(rows[2].pid, 0);
  EXPECT_EQ(rows[2].state, PMIX_PROC_STATE_UNDEF);
  EXPECT_EQ(Ask({PMIX_QUERY_LOCAL_PROC_TABLE}), kSuccess);
  EXPECT_EQ(results_[0].value.data.darray->size, 2u);
}

TEST_F(QueriesTest, WhatIsNotKnown) {
  EXPECT_EQ(Ask({"there.is.none"}), kErrNotFound);
  EXPECT_EQ(Ask({}), kErrNotFound);
  EXPECT_EQ(Ask({PMIX_JOB_SIZE}, {{PMIX_NSPACE, Value::String("other")}}),
            kErrNotFound);
  EXPECT_EQ(Ask({PMIX_JOB_SIZE, "there.is.none"}), kErrPartialSuccess);
  EXPECT_EQ(results_.size(), 1u);
}

TEST(Queries, NodesHaveAliases) {
  const JobNode node = {"a", {"b"}, 0, 1};
  EXPECT_TRUE(IsNamed(node, "a"));
  EXPECT_TRUE(IsNamed(node, "b"));
  EXPECT_FALSE(IsNamed(node, "c"));
}

TEST(Queries, NamesOfNodesOnceEach) {
  JobSpec one;
  one.nodes = {{"b", {}, 0, 1}, {"a", {}, 1, 1}};
  JobSpec two;
  two.nodes = {{"a", {}, 1, 1}, {"c", {}, 2, 1}};
  EXPECT_EQ(NodeNames({&one, &two}), "b,a,c");
  EXPECT_EQ(NodeNames({}), "");
}

TEST(Queries, NamesOfManyNodes) {
  const double growth = GrowthOf(2000, [](size_t nodes) {
    JobSpec job;
    for (size_t n = 0; n < nodes; ++n) {
      job.nodes.push_back({"node" + std::to_string(n), {}, 0, 1});
    }
    EXPECT_FALSE(NodeNames({&job}).empty());
  });
  EXPECT_LT(growth, kAlmostLinear);
}

}  // namespace
}  // namespace canopy::openpmix
