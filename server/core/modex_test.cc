#include "server/core/modex.h"

#include <gtest/gtest.h>

#include "common/codec/encoder.h"
#include "server/core/kval.h"

namespace canopy::core {
namespace {

using Found = ModexStore::Found;

std::string Kval(const std::string& key, const std::string& value) {
  Encoder encoder;
  encoder.PutString(key);
  encoder.PutUint16(PMIX_STRING);
  encoder.PutString(value);
  return encoder.Take();
}

ScopedData Data(Scope scope, const std::string& kvals) {
  return {scope, Bytes(kvals)};
}

const ProcId kProc = {"job", 3};

TEST(Modex, ScopesAreTwoSides) {
  ModexStore store;
  EXPECT_EQ(store.FindHere(kProc, "g"), Found::kNothing);
  ASSERT_TRUE(store.Commit(0, kProc,
                           {Data(Scope::kGlobal, Kval("g", "1")),
                            Data(Scope::kLocal, Kval("l", "2")),
                            Data(Scope::kRemote, Kval("r", "3"))}));
  EXPECT_EQ(store.FindHere(kProc, "g"), Found::kYes);
  EXPECT_EQ(store.FindHere(kProc, "l"), Found::kYes);
  EXPECT_EQ(store.FindHere(kProc, "r"), Found::kOutside);
  EXPECT_EQ(store.FindHere(kProc, "x"), Found::kNo);
  EXPECT_EQ(store.FindHere(kProc, ""), Found::kYes);
  EXPECT_EQ(store.FindForOthers(kProc, "l"), Found::kOutside);
  EXPECT_EQ(store.FindForOthers(kProc, "r"), Found::kYes);
  EXPECT_EQ(store.FindForOthers({"job", 4}, "r"), Found::kNothing);
  EXPECT_EQ(store.SeenHere(kProc).view(), Kval("g", "1") + Kval("l", "2"));
  EXPECT_EQ(store.SeenByOthers(kProc).view(), Kval("g", "1") + Kval("r", "3"));
  EXPECT_EQ(store.Publication(kProc).outside, std::vector<std::string>{"r"});
}

TEST(Modex, LaterReplacesEarlierWhereItIsSeen) {
  ModexStore store;
  ASSERT_TRUE(store.Commit(
      0, kProc, {Data(Scope::kGlobal, Kval("k", "1") + Kval("k", "2"))}));
  EXPECT_EQ(store.SeenHere(kProc).view(), Kval("k", "2"));
  ASSERT_TRUE(store.Commit(0, kProc, {Data(Scope::kLocal, Kval("k", "3"))}));
  EXPECT_EQ(store.SeenHere(kProc).view(), Kval("k", "3"));
  EXPECT_EQ(store.SeenByOthers(kProc).view(), Kval("k", "2"));
}

TEST(Modex, MalformedDataChangesNothing) {
  ModexStore store;
  EXPECT_FALSE(store.Commit(
      0, kProc,
      {Data(Scope::kGlobal, Kval("k", "1")), Data(Scope::kGlobal, "\x05")}));
  EXPECT_EQ(store.FindHere(kProc, "k"), Found::kNothing);
  EXPECT_TRUE(store.TakeChanged().empty());
  EXPECT_FALSE(store.StoreRemote(kProc, 1, Bytes("\x05")));
  EXPECT_EQ(store.FindHere(kProc, ""), Found::kNothing);
}

TEST(Modex, CommitOfNothingIsACommit) {
  ModexStore store;
  ASSERT_TRUE(store.Commit(0, kProc, {}));
  EXPECT_EQ(store.FindForOthers(kProc, ""), Found::kYes);
}

TEST(Modex, RemoteDataIsReplacedAsAWhole) {
  ModexStore store;
  EXPECT_TRUE(store.StoreRemote(kProc, 1, Bytes(Kval("a", "1"))));
  EXPECT_FALSE(store.StoreRemote(kProc, 1, Bytes(Kval("a", "1"))));
  EXPECT_TRUE(store.StoreRemote(kProc, 1, Bytes(Kval("b", "2"))));
  EXPECT_EQ(store.FindHere(kProc, "a"), Found::kNo);
  EXPECT_EQ(store.FindHere(kProc, "b"), Found::kYes);
  EXPECT_EQ(store.FindForOthers(kProc, "b"), Found::kNothing);
  EXPECT_EQ(store.TakeChanged(), (std::vector<ProcId>{kProc, kProc}));
}

TEST(Modex, AnOlderStateDoesNotReplaceANewerOne) {
  ModexStore store;
  EXPECT_TRUE(store.StoreRemote(kProc, 5, Bytes(Kval("a", "1"))));
  EXPECT_FALSE(store.StoreRemote(kProc, 4, Bytes(Kval("b", "2"))));
  EXPECT_FALSE(store.StoreRemote(kProc, 0, Bytes()));
  EXPECT_EQ(store.SeenHere(kProc).view(), Kval("a", "1"));
  EXPECT_TRUE(store.StoreRemote(kProc, 6, Bytes(Kval("b", "2"))));
  EXPECT_EQ(store.SeenHere(kProc).view(), Kval("b", "2"));
}

TEST(Modex, VersionsGrowWithCommitsAndTime) {
  ModexStore store;
  EXPECT_EQ(store.VersionOf(kProc), 0u);
  ASSERT_TRUE(store.Commit(0, kProc, {Data(Scope::kGlobal, Kval("k", "1"))}));
  EXPECT_EQ(store.VersionOf(kProc), 1u);
  ASSERT_TRUE(store.Commit(0, kProc, {Data(Scope::kGlobal, Kval("k", "2"))}));
  EXPECT_EQ(store.VersionOf(kProc), 2u);
  ASSERT_TRUE(store.Commit(9, kProc, {}));
  EXPECT_EQ(store.VersionOf(kProc), 9u);
}

TEST(Modex, HiddenKeysOfRemoteRanks) {
  ModexStore store;
  store.NoteOutside(kProc, "h");
  store.NoteOutside(kProc, "h");
  EXPECT_EQ(store.FindHere(kProc, "h"), Found::kOutside);
  EXPECT_EQ(store.Publication(kProc).outside, std::vector<std::string>{"h"});
  store.StoreRemote(kProc, 1, Bytes(Kval("h", "now seen")));
  EXPECT_EQ(store.FindHere(kProc, "h"), Found::kYes);
  EXPECT_TRUE(store.Publication(kProc).outside.empty());
}

TEST(Modex, OwnerOfAKey) {
  ModexStore store;
  ASSERT_TRUE(
      store.Commit(0, {"job", 5}, {Data(Scope::kRemote, Kval("k", "1"))}));
  EXPECT_FALSE(store.OwnerOf("job", "k"));
  ASSERT_TRUE(
      store.Commit(0, {"job", 6}, {Data(Scope::kLocal, Kval("k", "1"))}));
  EXPECT_EQ(store.OwnerOf("job", "k"), 6u);
  store.StoreRemote({"job", 2}, 1, Bytes(Kval("k", "1")));
  EXPECT_EQ(store.OwnerOf("job", "k"), 2u);
  EXPECT_FALSE(store.OwnerOf("other", "k"));
  store.DropJob("job");
  EXPECT_FALSE(store.OwnerOf("job", "k"));
}

TEST(Modex, ContributionsComeBackAsSlices) {
  ModexWriter writer;
  writer.Add({"job", 1}, 7, "abc");
  writer.Add({"job", 2}, 7, "");
  const Bytes bytes = writer.Take();
  ModexReader reader(bytes);
  ProcId proc;
  uint64_t version = 0;
  Bytes kvals;
  ASSERT_TRUE(reader.Next(&proc, &version, &kvals));
  EXPECT_EQ(proc, (ProcId{"job", 1}));
  EXPECT_EQ(version, 7u);
  EXPECT_EQ(kvals.view(), "abc");
  EXPECT_GE(kvals.view().data(), bytes.view().data());
  EXPECT_LT(kvals.view().data(), bytes.view().data() + bytes.size());
  ASSERT_TRUE(reader.Next(&proc, &version, &kvals));
  EXPECT_EQ(proc.rank, 2u);
  EXPECT_TRUE(kvals.empty());
  EXPECT_FALSE(reader.Next(&proc, &version, &kvals));
  EXPECT_TRUE(reader.ok());
}

TEST(Modex, ContributionsThatAreCutShort) {
  ModexWriter writer;
  writer.Add({"job", 1}, 7, "abc");
  const Bytes whole = writer.Take();
  for (size_t cut = 1; cut < whole.size(); ++cut) {
    ModexReader reader(whole.Slice(0, cut));
    ProcId proc;
    uint64_t version = 0;
    Bytes kvals;
    EXPECT_FALSE(reader.Next(&proc, &version, &kvals));
    EXPECT_FALSE(reader.ok()) << cut;
  }
}

}  // namespace
}  // namespace canopy::core
