#include "server/openpmix/connection_log.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "common/posix/unique_fd.h"
#include "server/openpmix/handshake.h"

namespace canopy::openpmix {
namespace {

constexpr uint64_t kClient = 7;
constexpr Rank kRank = 3;

std::string Request(uint32_t tag, const std::string& payload) {
  return MakeHeader(tag, static_cast<uint32_t>(payload.size())) + payload;
}

class LedgerTest : public ::testing::Test {
 protected:
  LedgerTest() {
    ConnectionLog::Hooks hooks;
    hooks.sent = [this](uint64_t) { return sent_; };
    hooks.moved = [this](int fd) {
      ++moves_;
      fd_ = DuplicateFd(fd);
    };
    auto connection_log = ConnectionLog::Create(std::move(hooks), {});
    EXPECT_TRUE(connection_log.ok());
    connection_log_ = *std::move(connection_log);
    Add(RecordKind::kOpened, kRank, 0, 0,
        EncodeOpening({0, false, "4.2.2", "v41"}));
  }
  void Add(RecordKind kind, uint32_t a, uint32_t b, uint64_t number,
           std::string_view bytes = "") {
    connection_log_->Add({0, kind, 0, a, b, kClient, number}, bytes);
  }
  void Receive(const std::string& bytes) {
    const ConnectionLog::Reservation room =
        connection_log_->BeginRead(kClient, received_);
    ASSERT_GE(room.size, bytes.size());
    std::memcpy(room.data, bytes.data(), bytes.size());
    connection_log_->EndRead(bytes.size());
    received_ += bytes.size();
  }
  void Answer(uint32_t tag, const std::string& bytes, uint32_t one_series = 0) {
    Add(RecordKind::kAnswered, tag, one_series, bytes.size(), bytes);
    queued_ += bytes.size();
  }
  std::unique_ptr<ConnectionLogReader> Read() {
    auto reader = ConnectionLogReader::Open(UniqueFd(dup(fd_.get())));
    EXPECT_TRUE(reader.ok()) << reader.status().message();
    return reader.ok() ? *std::move(reader) : nullptr;
  }
  ConnectionLogState::Connection& Kept() {
    reader_ = Read();
    return reader_->state().connections.at(kClient);
  }

  uint64_t sent_ = 0;
  uint64_t received_ = 0;
  uint64_t queued_ = 0;
  int moves_ = 0;
  UniqueFd fd_;
  std::unique_ptr<ConnectionLog> connection_log_;
  std::unique_ptr<ConnectionLogReader> reader_;  // set by Kept
};

TEST_F(LedgerTest, ASuccessorReadsTheStateOfAConnection) {
  Receive(Request(101, "first") + Request(102, "second") + "rest");
  Answer(101, "answer");
  const ConnectionLogState::Connection& c = Kept();
  EXPECT_EQ(c.rank, kRank);
  EXPECT_EQ(c.opening.version, "4.2.2");
  EXPECT_EQ(c.received, received_);
  EXPECT_EQ(c.queued, 6u);
  EXPECT_EQ(c.input, "rest");
  ASSERT_EQ(c.requests.size(), 1u);
  EXPECT_EQ(c.requests.InOrder()[0].tag, 102u);
  EXPECT_EQ(c.requests.InOrder()[0].payload, "second");
  ASSERT_EQ(c.answers.size(), 1u);
  EXPECT_EQ(c.answers[0].bytes, "answer");
}

TEST_F(LedgerTest, AMessageInPiecesBecomesOneRequest) {
  const std::string message = Request(101, std::string(100, 'p'));
  for (const char byte : message) Receive(std::string(1, byte));
  const ConnectionLogState::Connection& c = Kept();
  EXPECT_TRUE(c.input.empty());
  ASSERT_EQ(c.requests.size(), 1u);
  EXPECT_EQ(c.requests.InOrder()[0].payload, std::string(100, 'p'));
}

TEST_F(LedgerTest, ALongAnswerIsRegeneratedFromItsRequest) {
  Receive(Request(101, "get"));
  Add(RecordKind::kAnswered, 101, 0, 100000);
  const ConnectionLogState::Connection& c = Kept();
  EXPECT_TRUE(c.requests.empty());
  ASSERT_EQ(c.answers.size(), 1u);
  EXPECT_EQ(c.answers[0].payload, "get");
  EXPECT_EQ(c.queued, 100000u);
}

TEST_F(LedgerTest, BytesWithoutARecordAreAddedToTheState) {
  const ConnectionLog::Reservation room =
      connection_log_->BeginRead(kClient, 0);
  const std::string message = Request(101, "late");
  std::memcpy(room.data, message.data(), message.size());
  const auto reader = Read();
  EXPECT_FALSE(reader->AddUnrecorded(kClient + 1, message.size()));
  EXPECT_FALSE(reader->AddUnrecorded(kClient, uint64_t{1} << 40));
  ASSERT_TRUE(reader->AddUnrecorded(kClient, message.size()));
  const auto& c = reader->state().connections.at(kClient);
  ASSERT_EQ(c.requests.size(), 1u);
  EXPECT_EQ(c.requests.InOrder()[0].payload, "late");
  EXPECT_EQ(c.received, message.size());
}

TEST_F(LedgerTest, CompactionDropsFinishedRequestsAndSentAnswers) {
  Add(RecordKind::kSeries, 0, 1, 0,
      EncodeSeries({core::CollectiveOp::kFence, {{"job", kRankWildcard}}}));
  constexpr uint32_t kRounds = 30000;
  for (uint32_t round = 0; round < kRounds; ++round) {
    Receive(Request(101 + round, "fence"));
    Answer(101 + round, "ok", 1);
    sent_ = queued_;
  }
  EXPECT_EQ(moves_, 1) << "the file is as small as it was";
  const auto reader = Read();
  ConnectionLogState& state = reader->state();
  ConnectionLogState::Connection& c = state.connections.at(kClient);
  EXPECT_LT(c.answers.size(), 10000u);
  state.Sent(&c, sent_);
  EXPECT_TRUE(c.answers.empty());
  EXPECT_TRUE(c.requests.empty());
  EXPECT_EQ((state.ended[{kRank, 1}]), kRounds);
  EXPECT_EQ(state.series.at(1).participants[0].nspace, "job");
}

TEST_F(LedgerTest, PendingStateAndReadDataSurviveCompaction) {
  Add(RecordKind::kEvents, 1, 0, 0, EncodeCodes({-5, 7}));
  Add(RecordKind::kFinalized, 0, 0, 0);
  Add(RecordKind::kNotified, 0, 0, 7, EncodeRaiser({"job", 3}));
  const std::string part(50000, 'p');
  Receive(Request(101, std::string(3000000, 'q')).substr(0, 60000));
  // No other read begins in this round, so data that was read must stay
  // readable.
  const ConnectionLog::Reservation room =
      connection_log_->BeginRead(kClient, received_);
  std::memcpy(room.data, part.data(), part.size());
  connection_log_->EndRead(part.size());
  received_ += part.size();
  const std::string event(20000, 'e');
  for (int i = 0; i < 40; ++i) {
    Answer(kEventTag, event);
    ASSERT_EQ(std::memcmp(room.data, part.data(), part.size()), 0) << i;
  }
  EXPECT_GT(moves_, 1);
  const ConnectionLogState::Connection& c = Kept();
  EXPECT_EQ(c.input.size(), received_);
  ASSERT_EQ(c.answers.size(), 40u);
  EXPECT_EQ(c.answers[39].bytes, event);
  EXPECT_TRUE(c.all_events);
  EXPECT_EQ(c.codes, (std::set<int>{-5, 7}));
  EXPECT_TRUE(c.finalized);
  EXPECT_TRUE(c.notified.Knows({{"job", 3}, 7}));
}

TEST_F(LedgerTest, UnsentBytesAreKept) {
  Receive(Request(101, "get"));
  Add(RecordKind::kAnswered, 101, 0, 100);
  Add(RecordKind::kUnsent, 0, 0, 40, std::string(60, 'u'));
  ConnectionLogState::Connection& c = Kept();
  EXPECT_EQ(c.unsent_at, 40u);
  EXPECT_EQ(c.unsent, std::string(60, 'u'));
  ConnectionLogState state;
  state.Sent(&c, 100);
  EXPECT_TRUE(c.unsent.empty());
}

TEST_F(LedgerTest, AClosedConnectionIsForgotten) {
  Add(RecordKind::kClosed, 0, 0, 0);
  EXPECT_TRUE(Read()->state().connections.empty());
}

TEST_F(LedgerTest, AProtocolViolationIsRecordedForItsConnection) {
  Receive(MakeHeader(101, UINT32_MAX) + "x");
  Receive("more");
  EXPECT_TRUE(Kept().broken);
  EXPECT_EQ(Kept().received, received_);
}

TEST_F(LedgerTest, InvalidLogsAreRejected) {
  const UniqueFd empty(memfd_create("test", MFD_CLOEXEC));
  EXPECT_FALSE(ConnectionLogReader::Open(UniqueFd(dup(empty.get()))).ok());
  ASSERT_EQ(ftruncate(empty.get(), lseek(fd_.get(), 0, SEEK_END)), 0);
  EXPECT_EQ(ConnectionLogReader::Open(UniqueFd(dup(empty.get()))).code(),
            kErrNotFound)
      << "as of a writer that gave up";
  // A record of a connection without kOpened.
  connection_log_->Add({0, RecordKind::kFinalized, 0, 0, 0, 99, 0}, "");
  EXPECT_EQ(ConnectionLogReader::Open(UniqueFd(dup(fd_.get()))).code(),
            kErrUnpackFailure);
}

}  // namespace
}  // namespace canopy::openpmix
