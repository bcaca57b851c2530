#include "server/facts/facts_reader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "common/codec/decoder.h"
#include "common/values/info_list.h"
#include "pmix_common.h"
#include "server/core/step/usage_keys.h"
#include "server/ports/fake_sink.h"

namespace canopy::facts {
namespace {

class FactsReaderTest : public testing::Test {
 protected:
  FactsOptions Options() {
    FactsOptions options;
    options.server = {"agent", 3};
    options.host = "here";
    options.uri = [this] { return uri_; };
    options.job_data = [](const std::string&) { return nullptr; };
    return options;
  }

  std::string uri_ = "agent.3;tcp4://127.0.0.1:1";
  EventLoop loop_;
  FakeSink sink_;
  FactsReader reader_{&loop_, &sink_, Options()};
};

TEST_F(FactsReaderTest, ReadReturnsTheAddressOfTheServer) {
  core::ReadFacts request;
  request.number = 7;
  request.keys = {{{"", kRankWildcard}, PMIX_SERVER_URI},
                  {{"", kRankWildcard}, PMIX_QUERY_AVAIL_SERVERS},
                  {{"job", 0}, PMIX_JOB_SIZE}};
  reader_.Read(request);
  const auto read = sink_.All<core::FactsRead>().at(0);
  EXPECT_EQ(read.number, 7u);
  EXPECT_EQ(DecodeValue(read.values[0].view())->AsString(), uri_);
  const Value servers = *DecodeValue(read.values[1].view());
  ASSERT_EQ(servers.AsInfos()->size(), 1u);
  const auto one = InfosOf((*servers.AsInfos())[0].value);
  EXPECT_EQ(KeyOf((*one)[0]), PMIX_NSPACE);
  EXPECT_EQ(StringOf(FindInfo(*one, PMIX_SERVER_URI)->value), uri_);
  EXPECT_TRUE(read.values[2].empty());
}

TEST_F(FactsReaderTest, EachRoundServesOneRequest) {
  core::ReadFacts request;
  for (request.number = 1; request.number <= 3; ++request.number) {
    reader_.Read(request);
  }
  EXPECT_EQ(sink_.All<core::FactsRead>().size(), 1u);
  while (sink_.All<core::FactsRead>().size() < 3) loop_.RunOnce(1000);
  EXPECT_EQ(sink_.All<core::FactsRead>()[2].number, 3u);
}

TEST_F(FactsReaderTest, AnAnswerAboveTheLimitIsEmpty) {
  uri_ = std::string(core::kMaxFacts / 2, 'u');
  core::ReadFacts request;
  request.keys.assign(100, {{"", kRankWildcard}, PMIX_SERVER_URI});
  reader_.Read(request);
  EXPECT_TRUE(sink_.All<core::FactsRead>().at(0).too_much);
  EXPECT_TRUE(sink_.All<core::FactsRead>().at(0).values.empty());
}

TEST_F(FactsReaderTest, ManyProcessesAreMeasuredInSeveralRounds) {
  core::ReadFacts request;
  request.number = 8;
  request.pids.assign(3 * kMeasuredAtOnce, getpid());
  request.pids[0] = 0;
  request.agent = true;
  reader_.Read(request);
  EXPECT_TRUE(sink_.All<core::FactsRead>().empty()) << "not in one round";
  while (sink_.All<core::FactsRead>().empty()) loop_.RunOnce(1000);
  const auto read = sink_.All<core::FactsRead>().at(0);
  ASSERT_EQ(read.pids.size(), request.pids.size());
  EXPECT_EQ(read.pids[0], 0u);
  EXPECT_GT(read.pids[1], 0u);
  EXPECT_GT(read.agent, 0u);
}

TEST_F(FactsReaderTest, StatisticsAreReadInSeveralRounds) {
  core::ReadFacts request;
  request.number = 9;
  request.usage.proc = core::UsageBit(core::kProcUsage, PMIX_PROC_RSS);
  request.usage.node = core::UsageBit(core::kNodeUsage, PMIX_NODE_LOAD_AVG);
  request.users.assign(2 * kUsersAtOnce + 1, getpid());
  request.users[0] = 0;
  reader_.Read(request);
  EXPECT_TRUE(sink_.All<core::FactsRead>().empty()) << "not in one round";
  while (sink_.All<core::FactsRead>().empty()) loop_.RunOnce(1000);
  const auto read = sink_.All<core::FactsRead>().at(0);
  ASSERT_EQ(read.users.size(), request.users.size());
  EXPECT_TRUE(read.users[0].empty());
  EXPECT_FALSE(read.users.back().empty());
  EXPECT_FALSE(read.node.empty());
}

}  // namespace
}  // namespace canopy::facts
