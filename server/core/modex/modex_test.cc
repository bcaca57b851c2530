#include "server/core/modex/modex.h"

#include <gtest/gtest.h>

#include "common/codec/encoder.h"
#include "common/codec/stored_key.h"
#include "common/growth_testing.h"
#include "server/core/core_testing.h"
#include "server/core/modex/kval.h"

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

TEST(Modex, EachScopeIsVisibleToItsSides) {
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
  EXPECT_EQ(store.UpdateSince(kProc, 0).kvals.view(),
            Kval("g", "1") + Kval("r", "3"));
  EXPECT_EQ(store.Publication(kProc).outside, std::vector<std::string>{"r"});
}

TEST(Modex, AKeyMayHaveAValueForEachSide) {
  ModexStore store;
  ASSERT_TRUE(store.Commit(0, kProc,
                           {Data(Scope::kRemote, Kval("k", "r")),
                            Data(Scope::kLocal, Kval("k", "l"))}));
  EXPECT_EQ(store.FindHere(kProc, "k"), Found::kYes);
  EXPECT_EQ(store.FindForOthers(kProc, "k"), Found::kYes);
  EXPECT_EQ(store.SeenHere(kProc).view(), Kval("k", "l"));
  EXPECT_EQ(store.UpdateSince(kProc, 0).kvals.view(), Kval("k", "r"));
  EXPECT_TRUE(store.TakeChange(kProc).outside.empty());
}

TEST(Modex, StoredNamesAreNotReportedAsOutside) {
  ModexStore store;
  const std::string name = ScopeNameOf("r");
  ASSERT_TRUE(store.Commit(
      0, kProc, {Data(Scope::kRemote, Kval("r", "1") + Kval(name, "1"))}));
  EXPECT_EQ(store.TakeChange(kProc).outside, std::vector<std::string>{"r"});
  EXPECT_EQ(store.Publication(kProc).outside, std::vector<std::string>{"r"});
}

// Return the names of values of "k" with one and with two qualifiers.
std::string Name(const std::string& qualifier) {
  return QualifiedNameOf("k", qualifier, "value");
}
std::string NameOfTwo() {
  return Name("a") + Name("b").substr(QualifiedPrefixOf(Name("b")).size());
}

TEST(Modex, AValueIsFoundBySomeOfItsQualifiers) {
  ModexStore store;
  ASSERT_TRUE(store.Commit(0, kProc,
                           {Data(Scope::kLocal, Kval(NameOfTwo(), "1")),
                            Data(Scope::kGlobal, Kval("k", "2"))}));
  EXPECT_EQ(store.FindHere(kProc, NameOfTwo()), Found::kYes);
  EXPECT_EQ(store.FindHere(kProc, Name("a")), Found::kYes);
  EXPECT_EQ(store.FindHere(kProc, Name("b")), Found::kYes);
  EXPECT_EQ(store.FindHere(kProc, Name("c")), Found::kNo);
  EXPECT_EQ(store.FindForOthers(kProc, Name("a")), Found::kOutside);
  ASSERT_TRUE(store.StoreRemote(
      {{"job", 4}, 0, 5, Bytes(Kval(NameOfTwo(), "1") + Kval("k", "2"))}));
  EXPECT_EQ(store.FindHere({"job", 4}, Name("b")), Found::kYes);
  EXPECT_EQ(store.FindHere({"job", 4}, Name("c")), Found::kNo);
}

// Data from the construct of a group may be newer than a state that the rank's
// agent has sent before.
TEST(Modex, AddedDataOfARemoteRankIsMergedWithALaterState) {
  ModexStore store;
  EXPECT_FALSE(store.AddRemote(kProc, Bytes("\x05")));
  ASSERT_TRUE(store.AddRemote(kProc, Bytes(Kval(Name("a"), "1"))));
  ASSERT_TRUE(store.AddRemote(kProc, Bytes(Kval(Name("b"), "2"))));
  EXPECT_EQ(store.KnownVersion(kProc), 0u);
  EXPECT_EQ(store.FindHere(kProc, Name("a")), Found::kYes);
  EXPECT_EQ(store.FindHere(kProc, "k"), Found::kNo);
  ASSERT_TRUE(store.StoreRemote(
      {kProc, 0, 5, Bytes(Kval(Name("b"), "3") + Kval("k", "4"))}));
  EXPECT_EQ(store.TakeChange(kProc).visible.view(),
            store.SeenHere(kProc).view());
  EXPECT_EQ(store.SeenHere(kProc).view(),
            Kval(Name("b"), "3") + Kval("k", "4") + Kval(Name("a"), "1"));
  ASSERT_TRUE(store.AddRemote(kProc, Bytes(Kval(Name("c"), "5"))));
  EXPECT_TRUE(store.TakeChange(kProc).only_changes);
  EXPECT_EQ(store.KnownVersion(kProc), 5u);
}

TEST(Modex, ALaterValueReplacesAnEarlierOneOnItsSides) {
  ModexStore store;
  ASSERT_TRUE(store.Commit(
      0, kProc, {Data(Scope::kGlobal, Kval("k", "1") + Kval("k", "2"))}));
  EXPECT_EQ(store.SeenHere(kProc).view(), Kval("k", "2"));
  ASSERT_TRUE(store.Commit(0, kProc, {Data(Scope::kLocal, Kval("k", "3"))}));
  EXPECT_EQ(store.SeenHere(kProc).view(), Kval("k", "3"));
  EXPECT_EQ(store.UpdateSince(kProc, 0).kvals.view(), Kval("k", "2"));
}

TEST(Modex, TakeChangeReturnsTheChangedKeys) {
  ModexStore store;
  ASSERT_TRUE(store.Commit(0, kProc,
                           {Data(Scope::kGlobal, Kval("a", "1")),
                            Data(Scope::kRemote, Kval("r", "1"))}));
  PublishRank change = store.TakeChange(kProc);
  EXPECT_TRUE(change.only_changes);
  EXPECT_EQ(change.visible.view(), Kval("a", "1"));
  EXPECT_EQ(change.outside, std::vector<std::string>{"r"});
  ASSERT_TRUE(store.Commit(0, kProc,
                           {Data(Scope::kGlobal, Kval("b", "1")),
                            Data(Scope::kLocal, Kval("b", "2")),
                            Data(Scope::kLocal, Kval("r", "2"))}));
  change = store.TakeChange(kProc);
  EXPECT_EQ(change.visible.view(), Kval("b", "2") + Kval("r", "2"));
  EXPECT_TRUE(change.outside.empty());
  EXPECT_EQ(store.SeenHere(kProc).view(),
            Kval("a", "1") + Kval("b", "2") + Kval("r", "2"));
}

TEST(Modex, ManyChangesOfARemoteRankAreMerged) {
  ModexStore store;
  const std::string text(1000, 'x');
  ASSERT_TRUE(store.StoreRemote({kProc, 0, 1, Bytes(Kval("a", "1"))}));
  EXPECT_FALSE(store.TakeChange(kProc).only_changes);
  for (uint64_t i = 1; i <= 300; ++i) {
    const std::string kval = Kval("k" + std::to_string(i % 150), text);
    ASSERT_TRUE(store.StoreRemote({kProc, i, i + 1, Bytes(kval)}));
    const PublishRank change = store.TakeChange(kProc);
    EXPECT_TRUE(change.only_changes);
    EXPECT_EQ(change.visible.view(), kval);
    EXPECT_EQ(store.FindHere(kProc, "k" + std::to_string(i % 150)),
              Found::kYes);
  }
  EXPECT_EQ(store.FindHere(kProc, "a"), Found::kYes);
  EXPECT_EQ(store.SeenHere(kProc).size(),
            Kval("a", "1").size() + 10 * Kval("k1", text).size() +
                90 * Kval("k11", text).size() + 50 * Kval("k111", text).size());
}

TEST(Modex, MalformedDataIsRejectedAsAWhole) {
  CoreEvents events;
  ModexStore store(&events);
  EXPECT_FALSE(store.Commit(
      0, kProc,
      {Data(Scope::kGlobal, Kval("k", "1")), Data(Scope::kGlobal, "\x05")}));
  EXPECT_EQ(store.FindHere(kProc, "k"), Found::kNothing);
  EXPECT_TRUE(events.empty());
  EXPECT_FALSE(store.StoreRemote({kProc, 0, 1, Bytes("\x05")}));
  EXPECT_EQ(store.FindHere(kProc, ""), Found::kNothing);
}

TEST(Modex, AnEmptyCommitMarksTheRankAsCommitted) {
  ModexStore store;
  ASSERT_TRUE(store.Commit(0, kProc, {}));
  EXPECT_EQ(store.FindForOthers(kProc, ""), Found::kYes);
}

TEST(Modex, RemoteDataIsReplacedAsAWhole) {
  CoreEvents events;
  ModexStore store(&events);
  EXPECT_TRUE(store.StoreRemote({kProc, 0, 5, Bytes(Kval("a", "1"))}));
  EXPECT_FALSE(store.StoreRemote({kProc, 0, 5, Bytes(Kval("a", "1"))}));
  EXPECT_TRUE(store.StoreRemote({kProc, 0, 5, Bytes(Kval("b", "2"))}));
  EXPECT_EQ(store.FindHere(kProc, "a"), Found::kNo);
  EXPECT_EQ(store.FindHere(kProc, "b"), Found::kYes);
  EXPECT_EQ(store.FindForOthers(kProc, "b"), Found::kNothing);
  EXPECT_EQ(TakeAll<DataChange>(&events).size(), 2u);
}

TEST(Modex, AnOlderStateDoesNotReplaceANewerOne) {
  ModexStore store;
  EXPECT_TRUE(store.StoreRemote({kProc, 0, 5, Bytes(Kval("a", "1"))}));
  EXPECT_FALSE(store.StoreRemote({kProc, 0, 4, Bytes(Kval("b", "2"))}));
  EXPECT_FALSE(store.StoreRemote({kProc, 0, 0, Bytes()}));
  EXPECT_EQ(store.SeenHere(kProc).view(), Kval("a", "1"));
  EXPECT_TRUE(store.StoreRemote({kProc, 0, 6, Bytes(Kval("b", "2"))}));
  EXPECT_EQ(store.SeenHere(kProc).view(), Kval("b", "2"));
}

uint64_t VersionOf(const ModexStore& store) {
  return store.UpdateSince(kProc, 0).version;
}

TEST(Modex, TheVersionIncreasesWithEachCommitAndWithTime) {
  ModexStore store;
  EXPECT_EQ(VersionOf(store), 0u);
  ASSERT_TRUE(store.Commit(0, kProc, {Data(Scope::kGlobal, Kval("k", "1"))}));
  EXPECT_EQ(VersionOf(store), 2u);
  ASSERT_TRUE(store.Commit(0, kProc, {Data(Scope::kGlobal, Kval("k", "2"))}));
  EXPECT_EQ(VersionOf(store), 3u);
  ASSERT_TRUE(store.Commit(9, kProc, {}));
  EXPECT_EQ(VersionOf(store), 9u);
}

TEST(Modex, AnUpdateContainsTheChangesVisibleToOtherNodes) {
  ModexStore store;
  ASSERT_TRUE(store.Commit(5, kProc, {Data(Scope::kGlobal, Kval("a", "1"))}));
  ASSERT_TRUE(store.Commit(6, kProc,
                           {Data(Scope::kGlobal, Kval("b", "2")),
                            Data(Scope::kLocal, Kval("c", "3"))}));
  EXPECT_EQ(store.UpdateSince(kProc, 0).kvals.view(),
            Kval("a", "1") + Kval("b", "2"));
  const RankUpdate update = store.UpdateSince(kProc, 5);
  EXPECT_EQ(update.base, 5u);
  EXPECT_EQ(update.version, 6u);
  EXPECT_EQ(update.kvals.view(), Kval("b", "2"));
  EXPECT_TRUE(store.UpdateSince(kProc, 6).kvals.empty());
  EXPECT_TRUE(store.UpdateSince({"job", 4}, 0).kvals.empty());
}

TEST(Modex, AnUnchangedValueIsNotPartOfAChange) {
  ModexStore store;
  const std::string a = Kval("a", std::string(1000, 'a'));
  const std::string b = Kval("b", "1");
  ASSERT_TRUE(store.Commit(5, kProc, {Data(Scope::kGlobal, a + b)}));
  store.TakeChange(kProc);
  ASSERT_TRUE(
      store.Commit(6, kProc, {Data(Scope::kGlobal, a + Kval("b", "2"))}));
  EXPECT_EQ(store.TakeChange(kProc).visible.view(), Kval("b", "2"));
  EXPECT_EQ(store.UpdateSince(kProc, 5).kvals.view(), Kval("b", "2"));
  EXPECT_EQ(store.UpdateSince(kProc, 5).version, 6u);
  EXPECT_EQ(store.SeenHere(kProc).view(), a + Kval("b", "2"));
  // The value that ranks of this node have seen already is a change for other
  // nodes.
  ASSERT_TRUE(store.Commit(7, kProc, {Data(Scope::kLocal, b)}));
  ASSERT_TRUE(store.Commit(8, kProc, {Data(Scope::kGlobal, b)}));
  EXPECT_EQ(store.UpdateSince(kProc, 7).kvals.view(), b);
}

TEST(Modex, AnUpdateIsAppliedToTheStoredState) {
  ModexStore store;
  ASSERT_TRUE(store.StoreRemote(
      {kProc, 0, 5, Bytes(Kval("a", "1") + Kval("b", "2") + Kval("c", "3"))}));
  ASSERT_TRUE(
      store.StoreRemote({kProc, 4, 7, Bytes(Kval("b", "4") + Kval("d", "5"))}));
  EXPECT_EQ(store.SeenHere(kProc).view(),
            Kval("a", "1") + Kval("c", "3") + Kval("b", "4") + Kval("d", "5"));
  // The same data in another encoding changes nothing, but sets the version to
  // which the next delta applies.
  EXPECT_FALSE(store.StoreRemote({kProc, 0, 8, store.SeenHere(kProc)}));
  EXPECT_TRUE(store.StoreRemote({kProc, 8, 9, Bytes(Kval("e", "6"))}));
}

// The agent that must resend the result of a collective was replaced, and its
// predecessor's data has no versions.
TEST(Modex, ARecoveredStateWithoutVersionsIsMerged) {
  ModexStore replaced;
  PublishRank published;
  published.proc = kProc;
  published.visible = Bytes(Kval("a", "1") + Kval("b", "3") + Kval("c", "4"));
  ASSERT_TRUE(replaced.RecoverRemote(published));
  RankUpdate passed_on = replaced.UpdateSince(kProc, 0);
  passed_on.kvals = replaced.SeenHere(kProc);

  ModexStore store;
  ASSERT_TRUE(store.StoreRemote(
      {kProc, 0, 1000, Bytes(Kval("b", "2") + Kval("d", "5"))}));
  EXPECT_EQ(store.KnownVersion(kProc), 1000u);
  ASSERT_TRUE(store.StoreRemote(passed_on));
  EXPECT_EQ(store.SeenHere(kProc).view(),
            Kval("d", "5") + Kval("a", "1") + Kval("b", "3") + Kval("c", "4"));
  EXPECT_EQ(store.KnownVersion(kProc), 0u);
  EXPECT_TRUE(store.StoreRemote({kProc, 2000, 3000, Bytes(Kval("e", "6"))}));
  EXPECT_EQ(store.KnownVersion(kProc), 3000u);
}

// Data from a fence was committed before the data from a get.
TEST(Modex, AnOlderStateDoesNotReplaceARecoveredOne) {
  ModexStore store;
  PublishRank published;
  published.proc = kProc;
  published.visible = Bytes(Kval("a", "2") + Kval("b", "2"));
  ASSERT_TRUE(store.RecoverRemote(published));
  EXPECT_FALSE(store.StoreRemote({kProc, 0, 1000, Bytes(Kval("a", "1"))}));
  EXPECT_EQ(store.SeenHere(kProc).view(), published.visible.view());
  const Bytes newer(Kval("a", "3") + Kval("b", "3") + Kval("c", "3"));
  EXPECT_TRUE(store.StoreRemote({kProc, 0, 2000, newer}));
  EXPECT_EQ(store.SeenHere(kProc).view(), newer.view());
}

TEST(Modex, ARecoveredStateDoesNotReplaceANewerOne) {
  ModexStore replaced;
  PublishRank published;
  published.proc = kProc;
  published.visible = Bytes(Kval("a", "1"));
  ASSERT_TRUE(replaced.RecoverRemote(published));
  RankUpdate passed_on = replaced.UpdateSince(kProc, 0);
  passed_on.kvals = replaced.SeenHere(kProc);
  ModexStore store;
  const Bytes newer(Kval("a", "2") + Kval("b", "2"));
  ASSERT_TRUE(store.StoreRemote({kProc, 0, 1000, newer}));
  EXPECT_FALSE(store.StoreRemote(passed_on));
  EXPECT_EQ(store.SeenHere(kProc).view(), newer.view());
  EXPECT_EQ(store.KnownVersion(kProc), 1000u);
}

// The rank has changed the value of a key between the two states, and has put
// no other key, so that only the versions show which state is newer.
TEST(Modex, ARecoveredStateKeepsItsVersion) {
  ModexStore predecessor;
  const Bytes older(Kval("a", "1"));
  const Bytes newer(Kval("a", "2"));
  ASSERT_TRUE(predecessor.StoreRemote({kProc, 0, 1000, older}));
  ModexStore replaced;
  ASSERT_TRUE(replaced.RecoverRemote(predecessor.TakeChange(kProc)));
  EXPECT_EQ(replaced.KnownVersion(kProc), 1000u);
  EXPECT_EQ(replaced.Publication(kProc).version, 1000u);
  RankUpdate passed_on = replaced.UpdateSince(kProc, 0);
  passed_on.kvals = replaced.SeenHere(kProc);
  ModexStore store;
  ASSERT_TRUE(store.StoreRemote({kProc, 0, 2000, newer}));
  EXPECT_FALSE(store.StoreRemote(passed_on));
  EXPECT_EQ(store.SeenHere(kProc).view(), newer.view());
  // A receiver whose state is the older one takes the recovered state.
  ModexStore behind;
  ASSERT_TRUE(behind.StoreRemote({kProc, 0, 500, newer}));
  EXPECT_TRUE(behind.StoreRemote(passed_on));
  EXPECT_EQ(behind.SeenHere(kProc).view(), older.view());
}

TEST(Modex, UpdatesOfAnUnknownStateAreRejected) {
  ModexStore store;
  EXPECT_FALSE(store.StoreRemote({kProc, 4, 5, Bytes(Kval("a", "1"))}));
  EXPECT_EQ(store.FindHere(kProc, "a"), Found::kNothing);
  ASSERT_TRUE(store.StoreRemote({kProc, 0, 3, Bytes(Kval("a", "1"))}));
  EXPECT_FALSE(store.StoreRemote({kProc, 4, 5, Bytes(Kval("b", "1"))}));
  EXPECT_EQ(store.SeenHere(kProc).view(), Kval("a", "1"));
}

TEST(Modex, NoteOutsideRecordsAKeyOutsideTheScope) {
  ModexStore store;
  store.NoteOutside(kProc, "h");
  store.NoteOutside(kProc, "h");
  EXPECT_EQ(store.FindHere(kProc, "h"), Found::kOutside);
  EXPECT_EQ(store.Publication(kProc).outside, std::vector<std::string>{"h"});
  store.StoreRemote({kProc, 0, 1, Bytes(Kval("h", "now seen"))});
  EXPECT_EQ(store.FindHere(kProc, "h"), Found::kYes);
  EXPECT_TRUE(store.Publication(kProc).outside.empty());
}

std::string Deleted(const std::string& key) {
  Encoder encoder;
  encoder.PutString(key);
  encoder.PutUint16(PMIX_UNDEF);
  return encoder.Take();
}

TEST(Modex, ADeletionReplacesTheValue) {
  ModexStore store;
  const std::string kept = Kval("a", "1");
  ASSERT_TRUE(
      store.Commit(0, kProc, {Data(Scope::kGlobal, kept + Kval("k", "2"))}));
  const uint64_t version = store.UpdateSince(kProc, 0).version;
  ASSERT_TRUE(store.Commit(
      1, kProc, {Data(Scope::kGlobal, Deleted("k") + Deleted("never"))}));
  EXPECT_EQ(store.SeenHere(kProc).view(), kept + Deleted("k"));
  EXPECT_EQ(store.UpdateSince(kProc, version).kvals.view(), Deleted("k"));
  EXPECT_EQ(store.TakeChange(kProc).visible.view(), Deleted("k"));
  EXPECT_EQ(store.FindHere(kProc, "k"), Found::kYes) << "a get does not wait";
  EXPECT_EQ(store.FindHere(kProc, "never"), Found::kNo);
  ASSERT_TRUE(store.Commit(2, kProc, {Data(Scope::kGlobal, Kval("k", "3"))}));
  EXPECT_EQ(store.SeenHere(kProc).view(), kept + Kval("k", "3"));
}

TEST(Modex, ADeletionCanApplyToOneSide) {
  ModexStore store;
  ASSERT_TRUE(store.Commit(0, kProc,
                           {Data(Scope::kGlobal, Kval("g", "1")),
                            Data(Scope::kRemote, Kval("r", "2"))}));
  ASSERT_TRUE(store.Commit(1, kProc,
                           {Data(Scope::kLocal, Deleted("g") + Deleted("r"))}));
  EXPECT_EQ(store.SeenHere(kProc).view(), Deleted("g"));
  EXPECT_EQ(store.UpdateSince(kProc, 0).kvals.view(),
            Kval("g", "1") + Kval("r", "2"));
  EXPECT_EQ(store.FindHere(kProc, "r"), Found::kOutside);
}

TEST(Modex, ADeletedKeyHasNoOwner) {
  ModexStore store;
  for (const Rank rank : {2u, 6u}) {
    store.Commit(0, {"job", rank}, {Data(Scope::kGlobal, Kval("k", "1"))});
  }
  store.StoreRemote({{"job", 7}, 0, 5, Bytes(Kval("k", "1"))});
  EXPECT_EQ(store.OwnerOf("job", "k"), 2u);
  store.Commit(1, {"job", 2}, {Data(Scope::kGlobal, Deleted("k"))});
  EXPECT_EQ(store.OwnerOf("job", "k"), 6u);
  store.Commit(1, {"job", 6}, {Data(Scope::kGlobal, Deleted("k"))});
  EXPECT_EQ(store.OwnerOf("job", "k"), 7u);
  store.StoreRemote({{"job", 7}, 5, 6, Bytes(Deleted("k"))});
  EXPECT_FALSE(store.OwnerOf("job", "k"));
}

TEST(Modex, TheLowestVisibleRankOwnsAKey) {
  ModexStore store;
  ASSERT_TRUE(
      store.Commit(0, {"job", 5}, {Data(Scope::kRemote, Kval("k", "1"))}));
  EXPECT_FALSE(store.OwnerOf("job", "k"));
  ASSERT_TRUE(
      store.Commit(0, {"job", 6}, {Data(Scope::kLocal, Kval("k", "1"))}));
  EXPECT_EQ(store.OwnerOf("job", "k"), 6u);
  store.StoreRemote({{"job", 2}, 0, 1, Bytes(Kval("k", "1"))});
  EXPECT_EQ(store.OwnerOf("job", "k"), 2u);
  EXPECT_FALSE(store.OwnerOf("other", "k"));
  store.DropJob("job");
  EXPECT_FALSE(store.OwnerOf("job", "k"));
}

TEST(Modex, ReadContributionsShareTheReceivedBytes) {
  ModexWriter writer;
  writer.Add({{"job", 1}, 3, 7, Bytes("abc")});
  writer.Add({{"job", 2}, 3, 7, Bytes("")});
  const Bytes bytes = writer.Take();
  ModexReader reader(bytes);
  RankUpdate update;
  ASSERT_TRUE(reader.Next(&update));
  EXPECT_EQ(update.proc, (ProcId{"job", 1}));
  EXPECT_EQ(update.base, 3u);
  EXPECT_EQ(update.version, 7u);
  const Bytes kvals = update.kvals;
  EXPECT_EQ(kvals.view(), "abc");
  EXPECT_GE(kvals.view().data(), bytes.view().data());
  EXPECT_LT(kvals.view().data(), bytes.view().data() + bytes.size());
  ASSERT_TRUE(reader.Next(&update));
  EXPECT_EQ(update.proc.rank, 2u);
  EXPECT_TRUE(update.kvals.empty());
  EXPECT_FALSE(reader.Next(&update));
  EXPECT_TRUE(reader.ok());
}

TEST(Modex, TruncatedContributionsAreRejected) {
  ModexWriter writer;
  writer.Add({{"job", 1}, 3, 7, Bytes("abc")});
  const Bytes whole = writer.Take();
  for (size_t cut = 1; cut < whole.size(); ++cut) {
    ModexReader reader(whole.Slice(0, cut));
    RankUpdate update;
    EXPECT_FALSE(reader.Next(&update));
    EXPECT_FALSE(reader.ok()) << cut;
  }
}

RankUpdate Remote(Rank rank, const std::string& kvals, uint64_t version,
                  uint64_t base = 0) {
  return {{"job", rank}, base, version, Bytes(kvals)};
}

TEST(Modex, TheIndexOfOwnersIsUpdatedWithTheData) {
  ModexStore store;
  EXPECT_EQ(store.OwnerOf("job", "a"), std::nullopt);
  ASSERT_TRUE(store.StoreRemote(Remote(5, Kval("a", "1"), 3)));
  EXPECT_EQ(store.num_indexed(), 0u);
  EXPECT_EQ(store.OwnerOf("job", "a"), 5u);
  EXPECT_EQ(store.OwnerOf("job", ""), std::nullopt);
  // The first search has built the index.
  EXPECT_EQ(store.num_indexed(), 1u);
  ASSERT_TRUE(store.Commit(0, kProc,
                           {Data(Scope::kLocal, Kval("a", "1")),
                            Data(Scope::kRemote, Kval("r", "1"))}));
  EXPECT_EQ(store.OwnerOf("job", "a"), 3u);
  EXPECT_EQ(store.OwnerOf("job", "r"), std::nullopt);
  ASSERT_TRUE(store.StoreRemote(Remote(5, Kval("b", "1"), 4, 3)));
  EXPECT_EQ(store.OwnerOf("job", "b"), 5u);
  store.DropJob("job");
  EXPECT_EQ(store.num_indexed(), 0u);
  EXPECT_EQ(store.OwnerOf("job", "a"), std::nullopt);
}

// Only an agent that contradicts itself causes this.
TEST(Modex, AKeyThatDisappearsLosesItsOwner) {
  ModexStore store;
  ASSERT_TRUE(store.StoreRemote(Remote(5, Kval("a", "1"), 3)));
  ASSERT_TRUE(store.StoreRemote(Remote(6, Kval("a", "1"), 3)));
  EXPECT_EQ(store.OwnerOf("job", "a"), 5u);
  ASSERT_TRUE(store.StoreRemote(Remote(5, Kval("b", "1"), 4)));
  EXPECT_EQ(store.OwnerOf("job", "a"), 6u);
  EXPECT_EQ(store.OwnerOf("job", "b"), 5u);
}

// Makes as many unanswered gets as there are ranks.
TEST(Modex, TheOwnerOfAKeyIsFoundWithoutReadingAllRanks) {
  const double growth = GrowthOf(500, [](size_t ranks) {
    ModexStore store;
    for (Rank rank = 0; rank < ranks; ++rank) {
      store.StoreRemote(Remote(rank, Kval("k", "1"), 3));
    }
    for (size_t i = 0; i < ranks; ++i) {
      EXPECT_EQ(store.OwnerOf("job", "none"), std::nullopt);
    }
  });
  EXPECT_LT(growth, kAlmostLinear);
}

// Makes as many gets as the remote rank has keys.
TEST(Modex, AKeyIsFoundWithoutReadingAllOfItsRank) {
  const double growth = GrowthOf(500, [](size_t keys) {
    ModexStore store;
    std::string all;
    for (size_t i = 0; i < keys; ++i) all += Kval(std::to_string(i), "1");
    store.StoreRemote(Remote(1, all, 3));
    for (size_t i = 0; i < keys; ++i) {
      EXPECT_EQ(store.FindHere({"job", 1}, "none"), Found::kNo);
    }
  });
  EXPECT_LT(growth, kAlmostLinear);
}

TEST(Modex, KeysOfALargeRankAreFoundByItsIndex) {
  ModexStore store;
  const ProcId proc = {"job", 1};
  const std::string large(100 << 10, 'x');
  ASSERT_TRUE(store.StoreRemote(Remote(1, Kval("a", large), 3)));
  EXPECT_EQ(store.FindHere(proc, "a"), Found::kYes);
  EXPECT_EQ(store.FindHere(proc, "b"), Found::kNo);
  ASSERT_TRUE(store.StoreRemote(Remote(1, Kval("b", large), 4, 3)));
  EXPECT_EQ(store.FindHere(proc, "b"), Found::kYes);
  EXPECT_EQ(store.FindHere(proc, "a"), Found::kYes);
  ASSERT_TRUE(store.StoreRemote(Remote(1, Kval("c", large), 5)));
  EXPECT_EQ(store.FindHere(proc, "c"), Found::kYes);
  EXPECT_EQ(store.FindHere(proc, "a"), Found::kNo);
}

TEST(Modex, AChangeContainsTheChangedKeys) {
  CoreEvents events;
  ModexStore store(&events);
  ASSERT_TRUE(store.Commit(0, kProc,
                           {Data(Scope::kGlobal, Kval("a", "1")),
                            Data(Scope::kRemote, Kval("r", "1"))}));
  ASSERT_TRUE(store.StoreRemote(Remote(5, Kval("b", "1"), 3)));
  const auto changed = TakeAll<DataChange>(&events);
  ASSERT_EQ(changed.size(), 2u);
  EXPECT_EQ(changed[0].proc, kProc);
  EXPECT_EQ(changed[0].visible.view(), Kval("a", "1"));
  EXPECT_EQ(changed[0].outside, std::vector<std::string>{"r"});
  EXPECT_EQ(changed[1].visible.view(), Kval("b", "1"));
  EXPECT_TRUE(events.empty());
}

}  // namespace
}  // namespace canopy::core
