#include "server/local/commit_mailboxes.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/codec/encoder.h"
#include "common/describe.h"
#include "common/local/data.h"
#include "common/posix/unique_fd.h"
#include "common/shm/commit_writer.h"

namespace canopy::local {
namespace {

using Outcome = shm::CommitWriter::Outcome;

std::string Kval(const std::string& key, const std::string& value) {
  Encoder kval;
  kval.PutString(key);
  kval.PutUint16(PMIX_STRING);
  kval.PutString(value);
  return kval.Take();
}

std::string Commit(const std::string& key, const std::string& value = "v") {
  const std::string kval = Kval(key, value);
  return wire::Encode(
      local::Commit{{{static_cast<uint8_t>(core::Scope::kGlobal), kval}}});
}

class FakeSink : public InputSink {
 public:
  void OnInput(core::Input input) override {
    taken.push_back(std::get<core::CommitTaken>(input));
  }
  void Drain() override { drained = taken.size(); }
  std::vector<core::CommitTaken> taken;
  size_t drained = 0;  // number of the inputs in `taken` that were drained
};

// Ranks 4, 6 and 9 are local.
class CommitMailboxesTest : public ::testing::Test {
 protected:
  CommitMailboxesTest() { Make(UniqueFd()); }

  void Make(UniqueFd former) {
    auto mailboxes = CommitMailboxes::Make(
        "job", {4, 6, 9}, std::move(former), &sink_,
        [this](std::function<void()> work) {
          deferred_.push_back(std::move(work));
        },
        [this](Rank rank) { corrupted_.push_back(rank); });
    ASSERT_TRUE(mailboxes.ok());
    mailboxes_ = std::move(mailboxes).value();
  }
  std::unique_ptr<shm::CommitWriter> Writer(uint32_t index) {
    auto writer = shm::CommitWriter::Map(mailboxes_->fd(), mailboxes_->size(),
                                         index, &sent_);
    EXPECT_TRUE(writer.ok());
    return std::move(writer).value();
  }
  void EndRound() {
    for (const auto& work : std::exchange(deferred_, {})) work();
  }
  UniqueFd Held() { return DuplicateFd(mailboxes_->fd()); }
  // Returns the commits as "rank:kvals".
  std::vector<std::string> Taken() {
    std::vector<std::string> out;
    for (const core::CommitTaken& taken : std::exchange(sink_.taken, {})) {
      EXPECT_EQ(taken.proc.nspace, "job");
      std::string text = std::to_string(taken.proc.rank) + ":";
      for (const core::ScopedData& data : taken.data) text += data.kvals.view();
      out.push_back(std::move(text));
    }
    return out;
  }
  static std::string Of(Rank rank, const std::string& kvals) {
    return std::to_string(rank) + ":" + kvals;
  }

  FakeSink sink_;
  std::vector<std::function<void()>> deferred_;
  std::vector<Rank> corrupted_;
  std::atomic<uint32_t> sent_{0};
  std::unique_ptr<CommitMailboxes> mailboxes_;
};

using Texts = std::vector<std::string>;

TEST_F(CommitMailboxesTest, OnlyDrainedCommitsAreReleased) {
  auto first = Writer(0);
  auto second = Writer(1);
  first->Write(Commit("a"));
  mailboxes_->Take(4);
  // Other work of the same round has taken these commits.
  second->Write(Commit("b"));
  mailboxes_->Take(6);
  EXPECT_EQ(sink_.drained, 0u);
  EndRound();
  EXPECT_EQ(sink_.drained, 2u);
}

TEST_F(CommitMailboxesTest, AllCommitsOfARankAreTakenAsOneInput) {
  auto writer = Writer(1);
  writer->Write(Commit("a"));
  writer->Write(Commit("b"));
  mailboxes_->Take(4);
  mailboxes_->Take(7);
  EXPECT_EQ(Taken(), Texts());
  mailboxes_->Take(6);
  EXPECT_EQ(Taken(), Texts{Of(6, Kval("a", "v") + Kval("b", "v"))});
  mailboxes_->TakeAll();
  EXPECT_EQ(Taken(), Texts());
  EXPECT_TRUE(corrupted_.empty());
}

TEST_F(CommitMailboxesTest, TakeAllReadsAllMailboxes) {
  Writer(0)->Write(Commit("a"));
  Writer(2)->Write(Commit("c"));
  mailboxes_->TakeAll();
  EXPECT_EQ(Taken(), (Texts{Of(4, Kval("a", "v")), Of(9, Kval("c", "v"))}));
}

TEST_F(CommitMailboxesTest, AnAwaitedRankSignalsOnlyItsFirstCommit) {
  auto writer = Writer(0);
  mailboxes_->Await(4);
  EXPECT_EQ(writer->Write(Commit("a")), Outcome::kNotify);
  mailboxes_->Await(4);
  EXPECT_EQ(Taken(), Texts{Of(4, Kval("a", "v"))});
  EXPECT_EQ(writer->Write(Commit("b")), Outcome::kWritten);
}

TEST_F(CommitMailboxesTest, AnUndefinedRankAwaitsAllRanks) {
  mailboxes_->Await(kRankUndef);
  EXPECT_EQ(Writer(0)->Write(Commit("a")), Outcome::kNotify);
  EXPECT_EQ(Writer(2)->Write(Commit("a")), Outcome::kNotify);
  mailboxes_->Await(5);
}

TEST_F(CommitMailboxesTest, AMailboxIsUsedAfterEarlierMessagesWereRead) {
  auto writer = Writer(2);
  mailboxes_->Admit(2);
  sent_ = 1;
  EXPECT_EQ(writer->Write(Commit("a")), Outcome::kMessage);
  mailboxes_->OnMessage(2);
  EXPECT_EQ(writer->Write(Commit("a")), Outcome::kWritten);
  sent_ = 0;
  mailboxes_->Admit(2);
  EXPECT_EQ(writer->Write(Commit("a")), Outcome::kWritten);
}

// An agent may die after it has queued the input of the commits and before the
// core has handled that input.
TEST_F(CommitMailboxesTest, ASuccessorFindsCommitsOfAnUnfinishedRound) {
  auto writer = Writer(0);
  writer->Write(Commit("a"));
  mailboxes_->Take(4);
  EndRound();
  writer->Write(Commit("b"));
  mailboxes_->Take(4);
  EXPECT_EQ(Taken().size(), 2u);
  UniqueFd held = Held();
  mailboxes_.reset();
  EndRound();
  Make(std::move(held));
  mailboxes_->TakeAll();
  EXPECT_EQ(Taken(), Texts()) << "the round ended after all";
  writer->Write(Commit("c"));
  mailboxes_->Take(4);
  held = Held();
  mailboxes_.reset();
  Make(std::move(held));
  Taken();
  mailboxes_->TakeAll();
  EXPECT_EQ(Taken(), Texts{Of(4, Kval("c", "v"))});
}

TEST_F(CommitMailboxesTest, AnUnusableStoredDescriptorIsReplaced) {
  Make(UniqueFd(memfd_create("other", MFD_CLOEXEC)));
  EXPECT_EQ(Writer(2)->Write(Commit("a")), Outcome::kWritten);
}

TEST_F(CommitMailboxesTest, AMalformedCommitEndsOnlyItsRanksMailbox) {
  const std::string good = Commit("a");
  const std::string bad[] = {"x", std::string("\x01\x09\x00", 3),
                             good.substr(0, good.size() - 1), good + "x"};
  for (const std::string& payload : bad) {
    Make(UniqueFd());
    corrupted_.clear();
    auto writer = Writer(1);
    writer->Write(payload);
    mailboxes_->TakeAll();
    EXPECT_EQ(corrupted_, std::vector<Rank>{6});
    writer->Write(good);
    mailboxes_->TakeAll();
    EXPECT_EQ(Taken(), Texts());
    EXPECT_EQ(corrupted_.size(), 1u);
    Writer(0)->Write(good);
    mailboxes_->TakeAll();
    EXPECT_EQ(Taken(), Texts{Of(4, Kval("a", "v"))});
  }
}

TEST_F(CommitMailboxesTest, AClosedMailboxIsNotUsed) {
  auto writer = Writer(2);
  EXPECT_EQ(writer->Write(Commit("a")), Outcome::kWritten);
  mailboxes_->Close();
  EXPECT_EQ(writer->Write(Commit("b")), Outcome::kMessage);
  sent_ = 1;
  mailboxes_->OnMessage(2);
  EXPECT_EQ(writer->Write(Commit("c")), Outcome::kMessage);
  sent_ = 0;
  mailboxes_->Admit(2);
  EXPECT_EQ(writer->Write(Commit("d")), Outcome::kMessage);
  mailboxes_->TakeAll();
  EXPECT_EQ(Taken(), Texts{Of(9, Kval("a", "v"))});
}

TEST_F(CommitMailboxesTest, CommitsBeforeAMalformedOneAreDelivered) {
  auto writer = Writer(1);
  writer->Write(Commit("a"));
  writer->Write("nonsense");
  writer->Write(Commit("b"));
  mailboxes_->TakeAll();
  EXPECT_EQ(Taken(), Texts{Of(6, Kval("a", "v"))});
  EXPECT_EQ(corrupted_, std::vector<Rank>{6});
}

TEST_F(CommitMailboxesTest, RecordsThatExceedTheMailboxAreMalformed) {
  const std::string commit = Commit("a");
  const auto record = [&](size_t size) {
    const auto length = static_cast<shm::CommitLength>(size);
    std::string bytes(sizeof length, '\0');
    std::memcpy(bytes.data(), &length, sizeof length);
    return bytes + commit;
  };
  std::vector<core::ScopedData> data;
  for (const std::string& bytes :
       {record(commit.size() + 1), record(UINT32_MAX),
        record(commit.size()).substr(0, 3), std::string()}) {
    std::string_view rest = bytes;
    EXPECT_FALSE(NextCommit(&rest, &data));
  }
  const std::string two = record(commit.size()) + record(commit.size());
  std::string_view rest = two;
  EXPECT_TRUE(NextCommit(&rest, &data));
  EXPECT_EQ(rest.size(), two.size() / 2);
  EXPECT_TRUE(NextCommit(&rest, &data));
  EXPECT_TRUE(rest.empty());
}

}  // namespace
}  // namespace canopy::local
