#include "server/core/modex/persisted_commits.h"

#include <gtest/gtest.h>

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

TEST(KeptCommitsTest, EachKeyIsARecordThatComesBack) {
  const std::string two = Kval("a", "1") + Kval("b", "2");
  Actions actions;
  PersistCommit({"job", 7},
                {{Scope::kGlobal, Bytes(std::string(two))},
                 {Scope::kLocal, Bytes(Kval("c", "3"))}},
                &actions);
  const auto commits = RecoverCommits(Records(actions));
  ASSERT_EQ(commits.size(), 1u);
  const auto& data = commits.at(7);
  ASSERT_EQ(data.size(), 3u);
  EXPECT_EQ(data[0].scope, Scope::kGlobal);
  EXPECT_EQ(data[0].kvals.view(), Kval("a", "1"));
  EXPECT_EQ(data[1].kvals.view(), Kval("b", "2"));
  EXPECT_EQ(data[2].scope, Scope::kLocal);
}

TEST(KeptCommitsTest, ALaterValueHasTheSameName) {
  Actions actions;
  PersistCommit({"job", 7}, {{Scope::kGlobal, Bytes(Kval("a", "1"))}},
                &actions);
  PersistCommit({"job", 7}, {{Scope::kGlobal, Bytes(Kval("a", "2"))}},
                &actions);
  PersistCommit({"job", 8}, {{Scope::kGlobal, Bytes(Kval("a", "2"))}},
                &actions);
  const auto records = Records(actions);
  EXPECT_EQ(records[0].key, records[1].key);
  EXPECT_NE(records[0].key, records[2].key);
}

TEST(KeptCommitsTest, OtherAndMalformedRecordsAreLeftOut) {
  Actions actions;
  PersistCommit({"job", 7}, {{Scope::kGlobal, Bytes(Kval("a", "1"))}},
                &actions);
  std::vector<PersistedRecord> records = Records(actions);
  records.push_back({"collective x", {}});
  records.push_back({records[0].key.substr(0, 8), records[0].value});
  records.push_back({records[0].key, Bytes(std::string("nonsense"))});
  EXPECT_EQ(RecoverCommits(records).at(7).size(), 1u);
}

}  // namespace
}  // namespace canopy::core
