#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/posix/unique_fd.h"
#include "common/shm/commit_reader.h"
#include "common/shm/commit_writer.h"

namespace canopy::shm {
namespace {

using Found = CommitReader::Found;
using Outcome = CommitWriter::Outcome;

// Returns the content of `bytes`, record by record.
std::vector<std::string> Records(std::string bytes) {
  std::vector<std::string> out;
  while (bytes.size() >= sizeof(CommitLength)) {
    CommitLength length = 0;
    std::memcpy(&length, bytes.data(), sizeof length);
    out.push_back(bytes.substr(sizeof length, length));
    bytes.erase(0, sizeof length + length);
  }
  EXPECT_TRUE(bytes.empty());
  return out;
}

class CommitTest : public ::testing::Test {
 protected:
  explicit CommitTest(uint32_t mailboxes = 3)
      : reader_(std::move(CommitReader::Create(mailboxes)).value()) {}

  std::unique_ptr<CommitWriter> Writer(uint32_t index) {
    return std::move(
               CommitWriter::Map(reader_->fd(), reader_->size(), index, &sent_))
        .value();
  }
  std::vector<std::string> Take(uint32_t index) {
    std::string bytes;
    if (reader_->Take(index, &bytes) != Found::kCommits) return {};
    return Records(bytes);
  }
  // Returns the mailbox of a rank in the file, as a malicious rank sees it.
  CommitMailbox* Mailbox(uint32_t index) {
    if (base_ == nullptr) {
      base_ = mmap(nullptr, reader_->size(), PROT_READ | PROT_WRITE, MAP_SHARED,
                   reader_->fd(), 0);
    }
    return reinterpret_cast<CommitMailbox*>(static_cast<CommitHeader*>(base_) +
                                            1) +
           index;
  }
  void TearDown() override {
    if (base_ != nullptr) munmap(base_, reader_->size());
  }

  std::unique_ptr<CommitReader> reader_;
  void* base_ = nullptr;
  std::atomic<uint32_t> sent_{0};
};

using Texts = std::vector<std::string>;

TEST_F(CommitTest, ACommitIsTakenOnce) {
  auto writer = Writer(1);
  EXPECT_EQ(writer->Write("one"), Outcome::kWritten);
  EXPECT_EQ(writer->Write(""), Outcome::kWritten);
  EXPECT_EQ(writer->Write("three"), Outcome::kWritten);
  EXPECT_EQ(Take(0), Texts());
  EXPECT_EQ(Take(1), (Texts{"one", "", "three"}));
  EXPECT_EQ(Take(1), Texts());
  EXPECT_EQ(Take(2), Texts());
}

TEST_F(CommitTest, CommitsAreTakenInOrderAlsoBeforeARelease) {
  auto writer = Writer(0);
  writer->Write("one");
  EXPECT_EQ(Take(0), Texts{"one"});
  writer->Write("two");
  EXPECT_EQ(Take(0), Texts{"two"});
  reader_->Release();
  writer->Write("three");
  EXPECT_EQ(Take(0), Texts{"three"});
}

TEST_F(CommitTest, AFullMailboxIsReusedAfterARelease) {
  auto writer = Writer(2);
  const std::string large(kCommitMailboxBytes - sizeof(CommitLength), 'x');
  EXPECT_EQ(writer->Write(large + "y"), Outcome::kMessage);
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(writer->Write(large), Outcome::kWritten);
    EXPECT_EQ(writer->Write(""), Outcome::kMessage);
    ASSERT_EQ(Take(2), Texts{large});
    EXPECT_EQ(writer->Write(""), Outcome::kMessage);
    reader_->Release();
  }
  EXPECT_EQ(writer->Write("small"), Outcome::kWritten);
  EXPECT_EQ(Take(2), Texts{"small"});
}

TEST_F(CommitTest, ACommitIsAMessageWhileEarlierMessagesAreUnread) {
  auto writer = Writer(0);
  sent_ = 1;
  EXPECT_EQ(writer->Write("x"), Outcome::kMessage);
  reader_->SetMessages(0, 1);
  EXPECT_EQ(writer->Write("x"), Outcome::kWritten);
  sent_ = 2;
  EXPECT_EQ(writer->Write("x"), Outcome::kMessage);
  EXPECT_EQ(Take(0), Texts{"x"});
}

TEST_F(CommitTest, ARequestedSignalIsSentOnce) {
  auto writer = Writer(0);
  reader_->Ask(0);
  EXPECT_EQ(Take(0), Texts());
  EXPECT_EQ(writer->Write("a"), Outcome::kNotify);
  EXPECT_EQ(Take(0), Texts{"a"});
  EXPECT_EQ(writer->Write("b"), Outcome::kWritten);
}

TEST_F(CommitTest, ARequestForASignalSurvivesAnEmptyTake) {
  auto writer = Writer(0);
  reader_->Ask(0);
  EXPECT_EQ(Take(0), Texts());
  EXPECT_EQ(Take(0), Texts());
  EXPECT_EQ(writer->Write("a"), Outcome::kNotify);
}

TEST_F(CommitTest, ASuccessorTakesCommitsThatWereNotReleased) {
  auto writer = Writer(1);
  writer->Write("one");
  writer->Write("two");
  EXPECT_EQ(Take(1), (Texts{"one", "two"}));
  reader_->Release();
  writer->Write("three");
  EXPECT_EQ(Take(1), Texts{"three"}) << "and is gone before it is released";
  writer->Write("four");
  UniqueFd held = DuplicateFd(reader_->fd());
  reader_.reset();
  reader_ = std::move(CommitReader::Open(std::move(held), 3)).value();
  EXPECT_EQ(Take(1), (Texts{"three", "four"}));
  EXPECT_EQ(writer->Write("five"), Outcome::kWritten);
  EXPECT_EQ(Take(1), Texts{"five"});
}

TEST_F(CommitTest, APositionBeyondTheMailboxIsInvalid) {
  Mailbox(1)->written = CommitPosition(1, kCommitMailboxBytes + 1);
  std::string bytes;
  EXPECT_EQ(reader_->Take(1, &bytes), Found::kCorrupted);
  Mailbox(1)->written = CommitPosition(2, 8);
  EXPECT_EQ(reader_->Take(1, &bytes), Found::kNothing);
  EXPECT_TRUE(bytes.empty());
}

TEST_F(CommitTest, APositionThatDecreasesIsInvalid) {
  auto writer = Writer(1);
  writer->Write("12345678");
  EXPECT_EQ(Take(1).size(), 1u);
  Mailbox(1)->written = CommitPosition(1, 4);
  std::string bytes;
  EXPECT_EQ(reader_->Take(1, &bytes), Found::kCorrupted);
}

// A second thread of the rank may change the position at any time.
TEST_F(CommitTest, AMailboxIsReadOnceBetweenTwoReleases) {
  std::string bytes;
  size_t copied = 0;
  for (uint32_t generation = 1; generation < 100; ++generation) {
    Mailbox(1)->written = CommitPosition(generation, kCommitMailboxBytes);
    if (reader_->Take(1, &bytes) == Found::kCommits) copied += bytes.size();
  }
  EXPECT_EQ(copied, size_t{kCommitMailboxBytes});
}

TEST_F(CommitTest, ARankWritesOnlyItsOwnMailbox) {
  auto writer = Writer(1);
  for (const uint64_t bytes :
       {uint64_t{kCommitMailboxBytes - 3}, uint64_t{kCommitMailboxBytes},
        uint64_t{kCommitMailboxBytes} + 1, uint64_t{UINT32_MAX}}) {
    Mailbox(1)->written = bytes;
    Mailbox(1)->taken = bytes + 1;
    EXPECT_EQ(writer->Write("x"), Outcome::kMessage) << bytes;
  }
}

TEST_F(CommitTest, FilesThatAreNotMailboxesAreRejected) {
  EXPECT_FALSE(CommitReader::Create(0).ok());
  EXPECT_FALSE(CommitReader::Create(kMaxCommitMailboxes + 1).ok());
  EXPECT_FALSE(
      CommitWriter::Map(reader_->fd(), reader_->size(), 3, &sent_).ok());
  EXPECT_FALSE(
      CommitWriter::Map(reader_->fd(), reader_->size() - 1, 0, &sent_).ok());
  EXPECT_FALSE(CommitWriter::Map(reader_->fd(), 64, 0, &sent_).ok());
  const UniqueFd other(memfd_create("other", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(other.get(), static_cast<off_t>(CommitFileBytes(3))), 0);
  EXPECT_FALSE(
      CommitWriter::Map(other.get(), CommitFileBytes(3), 0, &sent_).ok());
  const auto copy = [](int fd) { return DuplicateFd(fd); };
  EXPECT_FALSE(CommitReader::Open(copy(other.get()), 3).ok()) << "no seals";
  EXPECT_FALSE(CommitReader::Open(copy(reader_->fd()), 2).ok());
  EXPECT_TRUE(CommitReader::Open(copy(reader_->fd()), 3).ok());
  reinterpret_cast<CommitHeader*>(Mailbox(0))[-1].version = kCommitVersion + 1;
  EXPECT_FALSE(CommitReader::Open(copy(reader_->fd()), 3).ok());
  EXPECT_FALSE(
      CommitWriter::Map(reader_->fd(), reader_->size(), 0, &sent_).ok());
  reinterpret_cast<CommitHeader*>(Mailbox(0))[-1].num_mailboxes = UINT32_MAX;
  EXPECT_FALSE(
      CommitWriter::Map(reader_->fd(), reader_->size(), 0, &sent_).ok());
}

TEST_F(CommitTest, ConcurrentWritesAreTakenOnceAndInOrder) {
  constexpr int kCommits = 20000;
  std::atomic<bool> done{false};
  int by_message = 0;
  std::thread rank([&, writer = Writer(0)] {
    for (int i = 0; i < kCommits; ++i) {
      const std::string text = std::to_string(i) + std::string(i % 500, '.');
      while (writer->Write(text) == Outcome::kMessage) {
        ++by_message;
        std::this_thread::yield();
      }
    }
    done = true;
  });
  int next = 0;
  int wrong = 0;
  for (bool last = false; !last;) {
    last = done;
    for (const std::string& text : Take(0)) {
      wrong +=
          text == std::to_string(next) + std::string(next % 500, '.') ? 0 : 1;
      ++next;
    }
    reader_->Release();
  }
  rank.join();
  EXPECT_EQ(next, kCommits);
  EXPECT_EQ(wrong, 0);
}

// A commit is either found after Ask or rings the doorbell.
TEST_F(CommitTest, ACommitIsFoundAfterAskOrSignalled) {
  std::atomic<int> rings{0};
  std::atomic<int> round{0};
  constexpr int kRounds = 5000;
  std::thread rank([&, writer = Writer(0)] {
    for (int i = 1; i <= kRounds; ++i) {
      while (round < i) std::this_thread::yield();
      rings += writer->Write("x") == Outcome::kNotify ? 1 : 0;
    }
  });
  for (int i = 1; i <= kRounds; ++i) {
    const int before = rings;
    round = i;
    reader_->Ask(0);
    std::string bytes;
    while (reader_->Take(0, &bytes) != Found::kCommits && rings == before) {
      std::this_thread::yield();
    }
    while (bytes.empty()) reader_->Take(0, &bytes);
    reader_->Release();
  }
  rank.join();
}

}  // namespace
}  // namespace canopy::shm
