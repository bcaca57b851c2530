#include "server/scheduler/report_queue.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "common/status.h"
#include "server/scheduler/fake_report_store.h"

namespace canopy::scheduler {
namespace {

class ReportQueueTest : public testing::Test {
 protected:
  ReportQueueTest() { Begin(5); }

  // Creates the queue of the agent, or of a successor.
  void Begin(uint64_t series) {
    queue_ = std::make_unique<ReportQueue>(
        series, [this](const std::string& text) { said_.push_back(text); });
  }
  void Restart(uint64_t series) {
    Begin(series);
    queue_->SetStore(&store_, store_.Load());
  }
  uint64_t Record(const std::string& name, const std::string& message = "") {
    v1::Report report;
    report.mutable_record()->set_nspace(name);
    report.mutable_record()->set_message(message);
    const v1::Report* added = queue_->Add(report);
    return added == nullptr ? 0 : added->sequence();
  }
  uint64_t State() {
    v1::Report report;
    report.mutable_job();
    return queue_->Add(report)->sequence();
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const v1::Report& report : queue_->reports()) {
      names.push_back(report.record().nspace());
    }
    return names;
  }

  FakeReportStore store_;
  std::vector<std::string> said_;
  std::unique_ptr<ReportQueue> queue_;
};

TEST_F(ReportQueueTest, AcknowledgedReportsAreDropped) {
  EXPECT_EQ(queue_->first(), 1u);
  EXPECT_EQ(queue_->last(), 0u);
  EXPECT_EQ(Record("a"), 1u);
  EXPECT_EQ(State(), 2u);
  EXPECT_EQ(Record("b"), 3u);
  queue_->Acknowledge(2);
  EXPECT_EQ(Names(), std::vector<std::string>{"b"});
  EXPECT_EQ(queue_->first(), 3u);
  EXPECT_TRUE(queue_->has_records());
  queue_->Acknowledge(3);
  EXPECT_FALSE(queue_->has_records());
  EXPECT_EQ(queue_->first(), 4u);
}

TEST_F(ReportQueueTest, ASuccessorGetsUnacknowledgedRecords) {
  queue_->SetStore(&store_, store_.Load());
  Record("a");
  Record("b");
  State();
  Record("c");
  queue_->Acknowledge(1);
  Restart(6);
  EXPECT_EQ(queue_->series(), 5u);
  EXPECT_EQ(Names(), (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(queue_->reports()[0].sequence(), 2u);
  EXPECT_EQ(queue_->reports()[1].sequence(), 4u);
  queue_->Acknowledge(2);
  Restart(7);
  EXPECT_EQ(Names(), std::vector<std::string>{"c"});
}

// The scheduler may have received states whose numbers were not stored.
TEST_F(ReportQueueTest, ASuccessorUsesNoNumberAgain) {
  queue_->SetStore(&store_, store_.Load());
  uint64_t last = 0;
  for (int restart = 0; restart < 3; ++restart) {
    for (uint64_t i = 0; i < ReportQueue::kReserve + 7; ++i) {
      const uint64_t number = State();
      EXPECT_GT(number, last);
      last = number;
    }
    Restart(6);
    EXPECT_GE(queue_->last(), last);
  }
  EXPECT_LT(store_.reservations, 10u);
}

TEST_F(ReportQueueTest, ReportsThatPrecedeTheStoreAreStored) {
  Record("earlier");
  queue_->SetStore(&store_, store_.Load());
  Restart(6);
  EXPECT_EQ(Names(), std::vector<std::string>{"earlier"});
  Begin(7);
  Record("own");
  queue_->SetStore(&store_, store_.Load());
  EXPECT_EQ(Names(), (std::vector<std::string>{"earlier", "own"}));
  EXPECT_GT(queue_->reports()[1].sequence(), queue_->reports()[0].sequence());
  Restart(8);
  EXPECT_EQ(Names(), (std::vector<std::string>{"earlier", "own"}));
}

// The agent was killed before it recorded that the job was over.
TEST_F(ReportQueueTest, ASecondRecordOfAJobIsNotAdded) {
  queue_->SetStore(&store_, store_.Load());
  Record("a");
  Restart(6);
  EXPECT_EQ(Record("a"), 0u);
  EXPECT_NE(Record("b"), 0u);
  EXPECT_EQ(Names(), (std::vector<std::string>{"a", "b"}));
  Begin(7);
  Record("b");
  queue_->SetStore(&store_, store_.Load());
  EXPECT_EQ(Names(), (std::vector<std::string>{"a", "b"}));
}

TEST_F(ReportQueueTest, StatesAreDroppedFirstAndDroppedRecordsAreCounted) {
  queue_->SetStore(&store_, store_.Load());
  Record("kept");
  for (size_t i = 1; i < ReportQueue::kMaxReports; ++i) State();
  Record("b");
  EXPECT_EQ(queue_->reports().size(), ReportQueue::kMaxReports);
  EXPECT_EQ(queue_->reports()[0].record().nspace(), "kept");
  for (size_t i = 2; i < ReportQueue::kMaxReports; ++i) Record("more");
  EXPECT_EQ(queue_->lost(), 0u);
  EXPECT_TRUE(said_.empty());
  Record("last");
  Record("very last");
  EXPECT_EQ(queue_->reports().size(), ReportQueue::kMaxReports);
  EXPECT_EQ(queue_->lost(), 2u);
  EXPECT_EQ(queue_->reports().back().records_lost(), 2u);
  EXPECT_EQ(queue_->reports().front().record().nspace(), "more");
  EXPECT_EQ(said_.size(), 1u);
  Restart(6);
  EXPECT_EQ(queue_->lost(), 2u);
  EXPECT_EQ(queue_->reports().size(), ReportQueue::kMaxReports);
}

TEST_F(ReportQueueTest, TheOldestRecordsAreDroppedAtTheMemoryLimit) {
  const std::string large(ReportQueue::kMaxBytes / 4, 'x');
  for (const char* name : {"a", "b", "c", "d"}) Record(name, large);
  EXPECT_EQ(Names(), (std::vector<std::string>{"b", "c", "d"}));
  EXPECT_EQ(queue_->lost(), 1u);
  Record("e", std::string(2 * ReportQueue::kMaxBytes, 'x'));
  EXPECT_EQ(Names(), std::vector<std::string>{"e"});
}

TEST_F(ReportQueueTest, AFailureToStoreIsLoggedOnce) {
  store_.status = Status(kErrJobSysOpFailed, "no space");
  queue_->SetStore(&store_, store_.Load());
  EXPECT_EQ(Record("a"), 1u);
  EXPECT_EQ(Record("b"), 2u);
  ASSERT_EQ(said_.size(), 1u);
  EXPECT_NE(said_[0].find("no space"), std::string::npos);
}

}  // namespace
}  // namespace canopy::scheduler
