#include "client/cli/history/history_store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

namespace canopy::cli {
namespace {

class HistoryStoreTest : public testing::Test {
 protected:
  HistoryStoreTest() : base_(Base()), store_(base_ + "/state/canopy", 100) {}

  static std::string Base() {
    std::string base = testing::TempDir() + "/history-XXXXXX";
    EXPECT_NE(mkdtemp(base.data()), nullptr);
    return base;
  }
  static HistoryEntry Entry(const std::string& job) {
    HistoryEntry entry;
    entry.job = job;
    entry.context = "default";
    entry.command = "sleep 1";
    entry.requested_ms = 1000;
    entry.launcher = MarkOfThisProcess();
    return entry;
  }
  std::string path() const { return base_ + "/state/canopy/history.db"; }

  const std::string base_;
  const HistoryStore store_;
};

TEST_F(HistoryStoreTest, AStoreThatDoesNotExistIsEmpty) {
  EXPECT_TRUE(store_.List("")->empty());
  EXPECT_EQ(store_.Find("a-1").code(), kErrNotFound);
  EXPECT_NE(access(path().c_str(), F_OK), 0) << "reading has created it";
}

TEST_F(HistoryStoreTest, AnEntryIsStoredAndReplaced) {
  HistoryEntry entry = Entry("a-1");
  ASSERT_TRUE(store_.Put(&entry).ok());
  EXPECT_NE(entry.id, 0);
  entry.num_procs = 8;
  entry.num_nodes = 2;
  entry.nodes = "node1,node2";
  entry.output = "/home/a.out";
  entry.started_ms = 2000;
  entry.ended_ms = 3000;
  entry.exit_code = 7;
  entry.reason = "rank 1 on node1 exited with 7";
  entry.name = "ocean";
  entry.parent = "a-0";
  ASSERT_TRUE(store_.Put(&entry).ok());
  const auto entries = store_.List("");
  ASSERT_EQ(entries->size(), 1u);
  const HistoryEntry& found = entries->front();
  EXPECT_EQ(found.id, entry.id);
  EXPECT_EQ(found.job, "a-1");
  EXPECT_EQ(found.command, "sleep 1");
  EXPECT_EQ(found.num_procs, 8);
  EXPECT_EQ(found.num_nodes, 2);
  EXPECT_EQ(found.nodes, "node1,node2");
  EXPECT_EQ(found.output, "/home/a.out");
  EXPECT_EQ(found.requested_ms, 1000);
  EXPECT_EQ(found.started_ms, 2000);
  EXPECT_EQ(found.ended_ms, 3000);
  EXPECT_EQ(found.exit_code, 7);
  EXPECT_EQ(found.reason, "rank 1 on node1 exited with 7");
  EXPECT_EQ(found.launcher, entry.launcher);
  EXPECT_EQ(found.name, "ocean");
  EXPECT_EQ(found.parent, "a-0");
  EXPECT_EQ(store_.FindByGivenName("ocean")->job, "a-1");
  EXPECT_EQ(store_.FindByGivenName("a-1").code(), kErrNotFound);
  EXPECT_TRUE(store_.List("other")->empty());
  EXPECT_EQ(store_.List("default")->size(), 1u);
}

TEST_F(HistoryStoreTest, AJobIsFoundByAnyOfItsNamesOrPartOfOne) {
  HistoryEntry first = Entry("a-1");
  HistoryEntry second = Entry("b-1");
  second.earlier = "b-0 c_0";
  HistoryEntry third = Entry("b-2");
  for (HistoryEntry* entry : {&first, &second, &third}) {
    ASSERT_TRUE(store_.Put(entry).ok());
  }
  EXPECT_EQ(store_.Find("a-1")->id, first.id);
  EXPECT_EQ(store_.Find("b-0")->id, second.id);
  EXPECT_EQ(store_.FindByPart("1")->id, second.id);
  for (const char* word : {"1", "", "0", "c%0", "' OR 1"}) {
    EXPECT_EQ(store_.Find(word).code(), kErrNotFound) << word;
  }
  for (const char* word : {"", "-1", "a", "3"}) {
    EXPECT_EQ(store_.FindByPart(word).code(), kErrNotFound) << word;
  }
}

TEST_F(HistoryStoreTest, TheOldestEntriesAreRemovedBeyondTheLimit) {
  const HistoryStore small(base_ + "/small", 3);
  for (int i = 0; i < 5; ++i) {
    HistoryEntry entry = Entry("a-" + std::to_string(i));
    ASSERT_TRUE(small.Put(&entry).ok());
  }
  const auto entries = small.List("");
  ASSERT_EQ(entries->size(), 3u);
  EXPECT_EQ(entries->front().job, "a-2");
  EXPECT_EQ(entries->back().job, "a-4");
}

TEST_F(HistoryStoreTest, AKeptDatabaseIsUsedWhileItIsInItsPlace) {
  const std::string directory = base_ + "/kept";
  const HistoryStore store(directory);
  std::optional<SqlDatabase> kept;
  HistoryEntry first = Entry("a-1");
  ASSERT_TRUE(store.Put(&first, &kept).ok());
  ASSERT_TRUE(kept);
  EXPECT_FALSE(kept->HasMoved());
  first.exit_code = 3;
  ASSERT_TRUE(store.Put(&first, &kept).ok());
  EXPECT_EQ(store.Find("a-1")->exit_code, 3);
  ASSERT_EQ(unlink((directory + "/history.db").c_str()), 0);
  EXPECT_TRUE(kept->HasMoved());
  HistoryEntry second = Entry("a-2");
  ASSERT_TRUE(store.Put(&second, &kept).ok());
  EXPECT_EQ(store.List("")->size(), 1u);
  ASSERT_TRUE(kept->Run("PRAGMA user_version=999").ok());
  EXPECT_EQ(store.Put(&second, &kept).code(), kErrNotSupported);
  EXPECT_FALSE(kept);
}

TEST_F(HistoryStoreTest, ManyProcessesStoreAtOnce) {
  constexpr int kProcesses = 8;
  constexpr int kEntries = 10;
  for (int i = 0; i < kProcesses; ++i) {
    if (fork() != 0) continue;
    bool fine = true;
    for (int k = 0; k < kEntries; ++k) {
      HistoryEntry entry = Entry(std::to_string(i) + "-" + std::to_string(k));
      fine = store_.Put(&entry).ok() && fine;
    }
    _exit(fine ? 0 : 1);
  }
  int status = 0;
  while (wait(&status) > 0) EXPECT_EQ(status, 0);
  EXPECT_EQ(store_.List("")->size(), size_t{kProcesses} * kEntries);
}

TEST_F(HistoryStoreTest, StoresOfEarlierVersionsAreReadAndWritten) {
  const std::vector<std::string> missing[] = {{"parent", "name"}, {"parent"}};
  for (size_t i = 0; i < std::size(missing); ++i) {
    const std::string directory = base_ + "/old" + std::to_string(i);
    const HistoryStore store(directory);
    HistoryEntry entry = Entry("a-1");
    ASSERT_TRUE(store.Put(&entry).ok());
    {
      auto old = SqlDatabase::Open(directory + "/history.db",
                                   SqlDatabase::Mode::kExisting);
      for (const std::string& column : missing[i]) {
        ASSERT_TRUE(old->Run("ALTER TABLE jobs DROP COLUMN " + column).ok());
      }
      ASSERT_TRUE(
          old->Run("PRAGMA user_version=" + std::to_string(i + 1)).ok());
    }
    EXPECT_EQ(store.Find("a-1")->parent, "");
    HistoryEntry second = Entry("a-2");
    second.name = "ocean";
    second.parent = "a-1";
    ASSERT_TRUE(store.Put(&second).ok());
    EXPECT_EQ(store.FindByGivenName("ocean")->parent, "a-1");
    EXPECT_EQ(store.List("")->size(), 2u);
  }
}

TEST_F(HistoryStoreTest, ADamagedStoreIsReportedWithTheRemedy) {
  HistoryEntry entry = Entry("a-1");
  ASSERT_TRUE(store_.Put(&entry).ok());
  std::ofstream(path()) << std::string(10000, 'x');
  for (const Status& status : {store_.Put(&entry), store_.Find("a").status()}) {
    EXPECT_NE(status.message().find("is damaged"), std::string::npos);
    EXPECT_NE(status.message().find("remove it"), std::string::npos);
    EXPECT_NE(status.message().find(path()), std::string::npos);
  }
}

TEST_F(HistoryStoreTest, ADirectoryThatCannotBeMadeIsReported) {
  std::ofstream(base_ + "/state") << "a file";
  HistoryEntry entry = Entry("a-1");
  const Status status = store_.Put(&entry);
  EXPECT_NE(status.message().find("cannot use the history of jobs"),
            std::string::npos);
}

TEST_F(HistoryStoreTest, OtherUsersCannotReadTheHistory) {
  HistoryEntry entry = Entry("a-1");
  ASSERT_TRUE(store_.Put(&entry).ok());
  struct stat info;
  ASSERT_EQ(stat((base_ + "/state/canopy").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

TEST_F(HistoryStoreTest, LongTextsAreShortenedWithoutCuttingACharacter) {
  HistoryEntry entry = Entry("a-1");
  entry.command = "x" + std::string(10000, '\xc3');
  for (size_t i = 2; i < entry.command.size(); i += 2) {
    entry.command[i] = '\xa4';
  }
  ASSERT_TRUE(store_.Put(&entry).ok());
  const std::string stored = store_.Find("a-1")->command;
  EXPECT_LT(stored.size(), 4100u);
  EXPECT_TRUE(stored.ends_with("\xa4..."));
}

TEST_F(HistoryStoreTest, AnEntryIsLostIfItsLauncherDiedBeforeTheJobEnded) {
  HistoryEntry entry = Entry("a-1");
  EXPECT_FALSE(entry.lost());
  ++entry.launcher.start;
  EXPECT_TRUE(entry.lost());
  entry.ended_ms = 5000;
  EXPECT_FALSE(entry.lost());
}

}  // namespace
}  // namespace canopy::cli
