#include "server/core/modex/persisted_commits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/codec/encoder.h"

namespace canopy::core {
namespace {

std::string Kval(const std::string& key, const std::string& text) {
  Encoder encoder;
  encoder.PutString(key);
  encoder.PutUint16(PMIX_STRING);
  encoder.PutString(text);
  return encoder.Take();
}

std::vector<PersistedRecord> Records(const Actions& actions) {
  std::vector<PersistedRecord> out;
  for (const Action& action : actions) {
    const auto& record = std::get<PersistRecord>(action);
    EXPECT_EQ(record.nspace, "job");
    out.push_back({record.key, record.value});
  }
  return out;
}

class KeptCommitsTest : public testing::Test {
 protected:
  // Returns the records that a commit of the rank produces.
  std::vector<PersistedRecord> Persist(const std::vector<ScopedData>& data,
                                       Rank rank = 7) {
    const ProcId proc{"job", rank};
    EXPECT_TRUE(store_.Commit(0, proc, data));
    Actions actions;
    PersistCommit(store_, proc, data, &actions);
    return Records(actions);
  }
  std::vector<PersistedRecord> Put(Scope scope, const std::string& key,
                                   const std::string& text, Rank rank = 7) {
    return Persist({{scope, Bytes(Kval(key, text))}}, rank);
  }

  ModexStore store_;
};

TEST_F(KeptCommitsTest, EachKeyIsPersistedAsARecordAndRecovered) {
  const std::string two = Kval("a", "1") + Kval("b", "2");
  const auto commits =
      RecoverCommits(Persist({{Scope::kGlobal, Bytes(std::string(two))},
                              {Scope::kLocal, Bytes(Kval("c", "3"))}}));
  ASSERT_EQ(commits.size(), 1u);
  const auto& data = commits.at(7);
  ASSERT_EQ(data.size(), 3u);
  EXPECT_EQ(data[0].scope, Scope::kGlobal);
  EXPECT_EQ(data[0].kvals.view(), Kval("a", "1"));
  EXPECT_EQ(data[1].kvals.view(), Kval("b", "2"));
  EXPECT_EQ(data[2].scope, Scope::kLocal);
}

TEST_F(KeptCommitsTest, TheRecordOfALaterValueReplacesTheEarlierOne) {
  const auto first = Put(Scope::kGlobal, "a", "1");
  const auto second = Put(Scope::kGlobal, "a", "2");
  const auto other = Put(Scope::kGlobal, "a", "2", 8);
  EXPECT_EQ(first.at(0).key, second.at(0).key);
  EXPECT_NE(first.at(0).key, other.at(0).key);
}

// Keeps records as a journal does: the last record of each name, in the order
// of the last changes.
class JournalOrder {
 public:
  void Add(const std::vector<PersistedRecord>& records) {
    for (const PersistedRecord& record : records) {
      const auto same = [&](const PersistedRecord& one) {
        return one.key == record.key;
      };
      const auto known = std::ranges::find_if(records_, same);
      if (known != records_.end() &&
          known->value.view() == record.value.view()) {
        continue;
      }
      std::erase_if(records_, same);
      records_.push_back(record);
    }
  }
  const std::vector<PersistedRecord>& records() const { return records_; }

 private:
  std::vector<PersistedRecord> records_;
};

// After a restart, a rank of this node and a rank of another node see the same
// value of "k" as before.
TEST_F(KeptCommitsTest, TheScopesOfAKeyAreRecoveredInOrder) {
  const std::vector<std::pair<Scope, const char*>> puts = {
      {Scope::kLocal, "1"},  {Scope::kGlobal, "2"}, {Scope::kLocal, "1"},
      {Scope::kRemote, "3"}, {Scope::kGlobal, "2"}, {Scope::kRemote, "3"},
      {Scope::kLocal, "2"},  {Scope::kGlobal, "4"}};
  JournalOrder journal;
  for (const auto& [scope, text] : puts) {
    journal.Add(Put(scope, "k", text));
    ModexStore successor;
    for (const auto& [rank, data] : RecoverCommits(journal.records())) {
      ASSERT_TRUE(successor.Commit(0, {"job", rank}, data));
    }
    const ProcId proc{"job", 7};
    EXPECT_EQ(successor.SeenHere(proc).view(), store_.SeenHere(proc).view());
    EXPECT_EQ(successor.UpdateSince(proc, 0).kvals.view(),
              store_.UpdateSince(proc, 0).kvals.view());
  }
}

TEST_F(KeptCommitsTest, RecordsOfOtherTypesAndMalformedRecordsAreIgnored) {
  std::vector<PersistedRecord> records = Put(Scope::kGlobal, "a", "1");
  records.push_back({"collective x", {}});
  records.push_back({records[0].key.substr(0, 8), records[0].value});
  records.push_back({records[0].key, Bytes(std::string("nonsense"))});
  EXPECT_EQ(RecoverCommits(records).at(7).size(), 1u);
}

}  // namespace
}  // namespace canopy::core
