// Tests of PMIx_Publish, PMIx_Lookup and PMIx_Unpublish as processes see them.
// publishing_faults_test.cc covers losses of agents.
#include "server/core/publish/publishing.h"

#include <gtest/gtest.h>

#include "common/status.h"
#include "server/core/publish/publishing_testing.h"

namespace canopy::core {
namespace {

constexpr TimeNs kSecond = 1'000'000'000;
using Values = std::map<std::string, std::string>;

const ProcId kA0{"a", 0};  // on agent 0
const ProcId kA1{"a", 1};  // on agent 1
const ProcId kA2{"a", 2};  // on agent 0
const ProcId kB0{"b", 0};  // on agent 2
const ProcId kC0{"c", 0};  // on agent 0, another user

class PublishingTest : public testing::Test {
 protected:
  PublishingTest() {
    agents_.AddJob("a", {0, 1, 0});
    agents_.AddJob("b", {2});
    agents_.AddJob("c", {0}, 8, 80);
  }
  ~PublishingTest() override {
    for (const char* job : {"a", "b", "c"}) agents_.RemoveJob(job);
    EXPECT_EQ(agents_.publications(), 0u);
    EXPECT_EQ(agents_.operations(), 0u);
  }
  int Publish(const ProcId& proc, const std::string& key, uint8_t range,
              Persistence persistence = Persistence::kApp) {
    return agents_.Publish(proc, Persisting(persistence)
                                     .Range(range)
                                     .Text(key, key + " of " + ToString(proc)));
  }
  LookedUp LookupIn(const ProcId& proc, const std::string& key, uint8_t range) {
    return agents_.Lookup(proc, {key}, Infos().Range(range).Take());
  }

  PublishingAgents agents_{4};
};

TEST_F(PublishingTest, PublishedDataIsFoundFromEveryNode) {
  for (int i = 0; i < 20; ++i) {
    const std::string key = "key" + std::to_string(i);
    ASSERT_EQ(agents_.Publish(kA1, key, "v" + std::to_string(i)), kSuccess);
    for (const ProcId& proc : {kA0, kA1, kB0}) {
      const LookedUp found = agents_.Lookup(proc, {key});
      EXPECT_EQ(found.status, kSuccess);
      EXPECT_EQ(found.values, (Values{{key, "v" + std::to_string(i)}}));
      EXPECT_EQ(found.publishers.at(key), kA1);
    }
  }
}

TEST_F(PublishingTest, ALookupWithMissingKeysSucceedsPartlyOrFails) {
  agents_.Publish(kA0, Infos().Text("x", "1").Text("y", "2"));
  LookedUp found = agents_.Lookup(kB0, {"x", "none", "y"});
  EXPECT_EQ(found.status, kErrPartialSuccess);
  EXPECT_EQ(found.values, (Values{{"x", "1"}, {"y", "2"}}));
  found = agents_.Lookup(kB0, {"none", "nothing"});
  EXPECT_EQ(found.status, kErrNotFound);
  EXPECT_TRUE(found.values.empty());
  EXPECT_EQ(agents_.Lookup(kB0, {"x", "y"}).status, kSuccess);
}

TEST_F(PublishingTest, ADuplicateKeyIsRefusedOnlyOnTheSameRange) {
  EXPECT_EQ(Publish(kA0, "k", PMIX_RANGE_SESSION), kSuccess);
  EXPECT_EQ(Publish(kB0, "k", PMIX_RANGE_SESSION), kErrDuplicateKey);
  EXPECT_EQ(Publish(kA0, "k", PMIX_RANGE_SESSION), kErrDuplicateKey);
  EXPECT_EQ(Publish(kB0, "k", PMIX_RANGE_GLOBAL), kSuccess);
  EXPECT_EQ(Publish(kA0, "k", PMIX_RANGE_NAMESPACE), kSuccess);
  EXPECT_EQ(Publish(kA1, "k", PMIX_RANGE_NAMESPACE), kErrDuplicateKey);
  EXPECT_EQ(Publish(kB0, "k", PMIX_RANGE_NAMESPACE), kSuccess);
  EXPECT_EQ(Publish(kA0, "k", PMIX_RANGE_LOCAL), kSuccess);
  EXPECT_EQ(Publish(kA2, "k", PMIX_RANGE_LOCAL), kErrDuplicateKey);
  EXPECT_EQ(Publish(kA1, "k", PMIX_RANGE_LOCAL), kSuccess);
  EXPECT_EQ(Publish(kA0, "k", PMIX_RANGE_PROC_LOCAL), kSuccess);
  EXPECT_EQ(Publish(kA2, "k", PMIX_RANGE_PROC_LOCAL), kSuccess);
}

TEST_F(PublishingTest, OneDuplicateKeyFailsTheWholeCall) {
  agents_.Publish(kA0, "taken", "1");
  EXPECT_EQ(agents_.Publish(
                kB0, Infos().Text("p", "2").Text("taken", "3").Text("q", "4")),
            kErrDuplicateKey);
  EXPECT_EQ(agents_.Lookup(kA0, {"p", "q"}).status, kErrNotFound);
  EXPECT_EQ(agents_.Publish(kB0, Infos().Text("p", "2").Text("p", "3")),
            kErrDuplicateKey);
  EXPECT_EQ(agents_.Publish(kB0, "p", "5"), kSuccess);
  EXPECT_EQ(agents_.Lookup(kA0, {"taken"}).values, (Values{{"taken", "1"}}));
}

TEST_F(PublishingTest, ALookupPrefersThePublicationOfTheNarrowestRange) {
  for (const uint8_t range :
       {PMIX_RANGE_GLOBAL, PMIX_RANGE_SESSION, PMIX_RANGE_NAMESPACE}) {
    ASSERT_EQ(Publish(kA1, "k", range), kSuccess);
  }
  ASSERT_EQ(Publish(kA2, "k", PMIX_RANGE_LOCAL), kSuccess);
  EXPECT_EQ(agents_.Lookup(kA0, {"k"}).publishers.at("k"), kA2);
  ASSERT_EQ(Publish(kA0, "k", PMIX_RANGE_PROC_LOCAL), kSuccess);
  EXPECT_EQ(agents_.Lookup(kA0, {"k"}).publishers.at("k"), kA0);
}

TEST_F(PublishingTest, RangesLimitWhichProcessesSeeAKey) {
  Publish(kA0, "n", PMIX_RANGE_NAMESPACE);
  EXPECT_EQ(agents_.Lookup(kA1, {"n"}).status, kSuccess);
  EXPECT_EQ(agents_.Lookup(kB0, {"n"}).status, kErrNotFound);
  Publish(kA0, "l", PMIX_RANGE_LOCAL);
  EXPECT_EQ(agents_.Lookup(kA2, {"l"}).status, kSuccess);
  EXPECT_EQ(agents_.Lookup(kA1, {"l"}).status, kErrNotFound);
  Publish(kA0, "p", PMIX_RANGE_PROC_LOCAL);
  EXPECT_EQ(agents_.Lookup(kA0, {"p"}).status, kSuccess);
  EXPECT_EQ(agents_.Lookup(kA2, {"p"}).status, kErrNotFound);
  const std::vector<ProcId> members{{"b", kRankWildcard}, kA2};
  agents_.Publish(kA0, Infos()
                           .Range(PMIX_RANGE_CUSTOM)
                           .Add("pmix.evrange", Value::ProcArray(members))
                           .Text("c", "custom"));
  EXPECT_EQ(agents_.Lookup(kB0, {"c"}).status, kSuccess);
  EXPECT_EQ(agents_.Lookup(kA2, {"c"}).status, kSuccess);
  EXPECT_EQ(agents_.Lookup(kA1, {"c"}).status, kErrNotFound);
}

TEST_F(PublishingTest, TheRangeOfALookupLimitsThePublishers) {
  agents_.Publish(kB0, "k", "of b");
  EXPECT_EQ(LookupIn(kA0, "k", PMIX_RANGE_NAMESPACE).status, kErrNotFound);
  EXPECT_EQ(LookupIn(kA0, "k", PMIX_RANGE_LOCAL).status, kErrNotFound);
  EXPECT_EQ(LookupIn(kA0, "k", PMIX_RANGE_GLOBAL).status, kSuccess);
  EXPECT_EQ(LookupIn(kA0, "k", PMIX_RANGE_UNDEF).status, kSuccess);
  EXPECT_EQ(LookupIn(kB0, "k", PMIX_RANGE_PROC_LOCAL).status, kSuccess);
  const Bytes custom = Infos()
                           .Range(PMIX_RANGE_CUSTOM)
                           .Add("pmix.evrange", Value::Proc(kB0))
                           .Take();
  EXPECT_EQ(agents_.Lookup(kA0, {"k"}, custom).status, kSuccess);
}

TEST_F(PublishingTest, UnsupportedRangesAreRefused) {
  EXPECT_EQ(Publish(kA0, "k", PMIX_RANGE_RM), kErrNotSupported);
  EXPECT_EQ(Publish(kA0, "k", 99), kErrBadParam);
  EXPECT_EQ(Publish(kA0, "k", PMIX_RANGE_CUSTOM), kErrBadParam);
  EXPECT_EQ(LookupIn(kA0, "k", PMIX_RANGE_RM).status, kErrNotSupported);
}

TEST_F(PublishingTest, AnInvalidRangeDoesNotLimitALookup) {
  ASSERT_EQ(Publish(kA0, "k", PMIX_RANGE_SESSION), kSuccess);
  EXPECT_EQ(LookupIn(kB0, "k", 112).status, kSuccess);
  EXPECT_EQ(agents_.Unpublish(kA0, {"k"}, Infos().Range(112).Take()), kSuccess);
  EXPECT_EQ(LookupIn(kB0, "k", PMIX_RANGE_SESSION).status, kErrNotFound);
}

// ------------------------------------------------------------- permissions ---

Value Ids(const char* key, const std::vector<uint32_t>& ids) {
  pmix_data_array_t array{PMIX_UINT32, ids.size(),
                          const_cast<uint32_t*>(ids.data())};
  pmix_value_t value{};
  value.type = PMIX_DATA_ARRAY;
  value.data.darray = &array;
  InfoList list;
  list.Add(key, Value::FromC(value));
  return Value::InfoArray(list);
}

TEST_F(PublishingTest, OtherUsersAreRefusedUnlessTheyAreListed) {
  agents_.Publish(kA0, Infos().Text("mine", "1").Text("too", "2"));
  EXPECT_EQ(agents_.Lookup(kC0, {"mine"}).status, kErrNoPermissions);
  EXPECT_EQ(agents_.Lookup(kC0, {"mine", "too"}).status, kErrNoPermissions);
  EXPECT_EQ(agents_.Lookup(kC0, {"mine", "none"}).status, kErrNotFound);
  EXPECT_EQ(
      agents_.Publish(kA0, Infos()
                               .Text("users", "3")
                               .Add("pmix.aperms", Ids("pmix.auids", {8}))),
      kSuccess);
  EXPECT_EQ(agents_.Lookup(kC0, {"users"}).status, kSuccess);
  EXPECT_EQ(agents_.Lookup(kA1, {"users"}).status, kErrNoPermissions);
  EXPECT_EQ(agents_.Publish(
                kA0, Infos()
                         .Text("groups", "4")
                         .Add("pmix.aperms", Ids("pmix.agids", {80, 70}))),
            kSuccess);
  EXPECT_EQ(agents_.Lookup(kC0, {"groups"}).status, kSuccess);
  EXPECT_EQ(agents_.Lookup(kB0, {"groups"}).status, kSuccess);
  EXPECT_EQ(agents_.Lookup(kC0, {"groups", "mine"}).status, kErrPartialSuccess);
}

TEST_F(PublishingTest, ADirectiveWithAnotherUserIsIgnored) {
  agents_.Publish(kA0,
                  Infos().Text("k", "1").Number("pmix.euid", PMIX_UINT32, 8));
  EXPECT_EQ(agents_
                .Lookup(kC0, {"k"},
                        Infos().Number("pmix.euid", PMIX_UINT32, 7).Take())
                .status,
            kErrNoPermissions);
}

// ------------------------------------------------------------- persistence ---

TEST_F(PublishingTest, APublicationEndsWithItsProcessApplicationOrSession) {
  Publish(kA0, "p", PMIX_RANGE_SESSION, Persistence::kProc);
  Publish(kA0, "a", PMIX_RANGE_SESSION, Persistence::kApp);
  Publish(kA0, "s", PMIX_RANGE_SESSION, Persistence::kSession);
  agents_.EndRank(kA0);
  EXPECT_EQ(agents_.Lookup(kB0, {"p"}).status, kErrNotFound);
  EXPECT_EQ(agents_.Lookup(kB0, {"a", "s"}).status, kSuccess);
  agents_.RemoveJob("a");
  EXPECT_EQ(agents_.Lookup(kB0, {"a"}).status, kErrNotFound);
  EXPECT_EQ(agents_.Lookup(kB0, {"s"}).status, kSuccess);
}

TEST_F(PublishingTest, APublicationEndsWhenNoProcessCanSeeIt) {
  Publish(kA0, "n", PMIX_RANGE_NAMESPACE, Persistence::kIndefinite);
  Publish(kA0, "p", PMIX_RANGE_PROC_LOCAL, Persistence::kIndefinite);
  EXPECT_GT(agents_.publications(), 0u);
  agents_.RemoveJob("a");
  EXPECT_EQ(agents_.publications(), 0u);
}

TEST_F(PublishingTest, AnEndedPublisherFreesItsKeys) {
  Publish(kA0, "k", PMIX_RANGE_SESSION, Persistence::kProc);
  agents_.EndRank(kA0);
  EXPECT_EQ(Publish(kB0, "k", PMIX_RANGE_SESSION), kSuccess);
}

TEST_F(PublishingTest, AFirstReadPublicationIsReadOnce) {
  for (int i = 0; i < 10; ++i) {
    const std::string key = "once" + std::to_string(i);
    Publish(kA0, key, PMIX_RANGE_SESSION, Persistence::kFirstRead);
    const RequestId first = agents_.BeginLookup(kB0, {key});
    const RequestId second = agents_.BeginLookup(kA1, {key});
    const RequestId third = agents_.BeginLookup(kA2, {key});
    agents_.Run();
    int found = 0;
    for (const RequestId request : {first, second, third}) {
      found += agents_.StatusOf(request) == kSuccess ? 1 : 0;
      EXPECT_NE(agents_.StatusOf(request), PublishingAgents::kPending);
    }
    EXPECT_EQ(found, 1) << key;
    EXPECT_EQ(agents_.Lookup(kA1, {key}).status, kErrNotFound);
    // The key is free again.
    EXPECT_EQ(Publish(kB0, key, PMIX_RANGE_SESSION), kSuccess);
  }
}

TEST_F(PublishingTest, ALookupThatTimesOutReturnsItsClaims) {
  Publish(kA0, "once", PMIX_RANGE_SESSION, Persistence::kFirstRead);
  const Bytes both = Infos()
                         .Number("pmix.wait", PMIX_INT, 0)
                         .Number("pmix.timeout", PMIX_INT, 3)
                         .Take();
  const RequestId request = agents_.BeginLookup(kB0, {"once", "never"}, both);
  agents_.Run();
  EXPECT_EQ(agents_.Lookup(kA1, {"once"}).status, kErrNotFound);
  agents_.Pass(4 * kSecond);
  EXPECT_EQ(agents_.StatusOf(request), kErrTimeout);
  EXPECT_EQ(agents_.Lookup(kA1, {"once"}).status, kSuccess);
}

// ----------------------------------------------------------------- waiting ---

Bytes Wait(uint64_t count, uint64_t seconds = 0) {
  Infos infos;
  infos.Number("pmix.wait", PMIX_INT, count);
  if (seconds != 0) infos.Number("pmix.timeout", PMIX_INT, seconds);
  return infos.Take();
}

TEST_F(PublishingTest, ALookupWaitsForTheRequestedNumberOfKeys) {
  const RequestId all = agents_.BeginLookup(kA1, {"x", "y", "z"}, Wait(0));
  const RequestId two = agents_.BeginLookup(kB0, {"x", "y", "z"}, Wait(2));
  agents_.Publish(kA0, "y", "1");
  EXPECT_EQ(agents_.StatusOf(two), PublishingAgents::kPending);
  agents_.Publish(kB0, "z", "2");
  EXPECT_EQ(agents_.ResultOf(two).status, kErrPartialSuccess);
  EXPECT_EQ(agents_.ResultOf(two).values, (Values{{"y", "1"}, {"z", "2"}}));
  EXPECT_EQ(agents_.StatusOf(all), PublishingAgents::kPending);
  agents_.Publish(kA0, "x", "3");
  EXPECT_EQ(agents_.ResultOf(all).status, kSuccess);
  EXPECT_EQ(agents_.ResultOf(all).values.size(), 3u);
  EXPECT_EQ(agents_.operations(), 0u);
}

TEST_F(PublishingTest, APublicationOfLocalRangeEndsOnlyWaitsOfItsNode) {
  for (int i = 0; i < 8; ++i) {
    const std::string key = "k" + std::to_string(i);
    const RequestId request = agents_.BeginLookup(kA2, {key}, Wait(0));
    const RequestId far = agents_.BeginLookup(kA1, {key}, Wait(0, 2));
    agents_.Run();
    Publish(kA0, key, PMIX_RANGE_LOCAL);
    EXPECT_EQ(agents_.StatusOf(request), kSuccess);
    agents_.Pass(3 * kSecond);
    EXPECT_EQ(agents_.StatusOf(far), kErrTimeout);
  }
}

TEST_F(PublishingTest, AWaitEndsAtItsTimeout) {
  const RequestId request = agents_.BeginLookup(kB0, {"never"}, Wait(0, 2));
  agents_.Run();
  EXPECT_EQ(agents_.at(2).NextDeadline(), agents_.now() + 2 * kSecond);
  agents_.Pass(kSecond);
  EXPECT_EQ(agents_.StatusOf(request), PublishingAgents::kPending);
  agents_.Pass(kSecond);
  EXPECT_EQ(agents_.StatusOf(request), kErrTimeout);
  EXPECT_EQ(agents_.operations(), 0u);
}

TEST_F(PublishingTest, WaitingLookupsAreDescribed) {
  agents_.BeginLookup(kB0, {"k1", "k2"}, Wait(0));
  agents_.Run();
  std::vector<Waiting> waiting;
  agents_.at(2).Describe(agents_.now() + kSecond, "b", &waiting);
  agents_.at(2).Describe(agents_.now(), "a", &waiting);
  ASSERT_EQ(waiting.size(), 1u);
  EXPECT_EQ(waiting[0].operation, "lookup of 'k1', 'k2'");
  EXPECT_EQ(waiting[0].age_ms, 1000u);
  EXPECT_EQ(waiting[0].callers, 1u);
}

TEST_F(PublishingTest, TheLookupsOfAGoneClientEnd) {
  agents_.BeginLookup(kB0, {"k"}, Wait(0));
  agents_.Run();
  EXPECT_GT(agents_.operations(), 0u);
  agents_.Disconnect(kB0);
  EXPECT_EQ(agents_.operations(), 0u);
}

// ----------------------------------------------------------- unpublishing ---

TEST_F(PublishingTest, AProcessUnpublishesOnlyItsOwnData) {
  agents_.Publish(kA0, "k", "1");
  EXPECT_EQ(agents_.Unpublish(kA1, {"k"}), kSuccess);
  EXPECT_EQ(agents_.Lookup(kB0, {"k"}).status, kSuccess);
  EXPECT_EQ(agents_.Unpublish(kA0, {"k"}), kSuccess);
  EXPECT_EQ(agents_.Lookup(kB0, {"k"}).status, kErrNotFound);
  EXPECT_EQ(agents_.Publish(kA1, "k", "2"), kSuccess);
}

TEST_F(PublishingTest, AnUnpublishReturnsTheNumberOfKeysRemoved) {
  agents_.Publish(kA0, Infos().Text("x", "1").Text("y", "2"));
  const RequestId none = agents_.BeginUnpublish(kA0, {"z"});
  const RequestId both = agents_.BeginUnpublish(kA0, {});
  agents_.Run();
  EXPECT_EQ(agents_.PayloadOf(none), "0");
  EXPECT_EQ(agents_.PayloadOf(both), "2");
}

TEST_F(PublishingTest, AnUnpublishWithoutKeysRemovesAllKeysOnTheRange) {
  agents_.Publish(kA0, Infos().Text("x", "1").Text("y", "2"));
  Publish(kA0, "g", PMIX_RANGE_GLOBAL);
  EXPECT_EQ(agents_.Unpublish(kA0, {}), kSuccess);
  EXPECT_EQ(agents_.Lookup(kB0, {"x", "y"}).status, kErrNotFound);
  EXPECT_EQ(agents_.Lookup(kB0, {"g"}).status, kSuccess);
  EXPECT_EQ(
      agents_.Unpublish(kA0, {"g"}, Infos().Range(PMIX_RANGE_GLOBAL).Take()),
      kSuccess);
  EXPECT_EQ(agents_.Lookup(kB0, {"g"}).status, kErrNotFound);
}

// ------------------------------------------------------------------ tools ---

TEST_F(PublishingTest, ToolsPublishAndLookUpAsTheirOwner) {
  const ProcId tool{"tool", 0};
  const ProcId other{"tool.of.another", 0};
  agents_.AddTool(tool, 3);
  agents_.AddTool(other, 3, 8, 80);
  EXPECT_EQ(agents_.Publish(tool, "k", "1"), kSuccess);
  EXPECT_EQ(agents_.Publish(kA0, "k", "2"), kErrDuplicateKey);
  const LookedUp found = agents_.Lookup(kB0, {"k"});
  EXPECT_EQ(found.values, (Values{{"k", "1"}}));
  EXPECT_EQ(found.publishers.at("k"), tool);
  EXPECT_EQ(agents_.Publish(kA0, "j", "3"), kSuccess);
  EXPECT_EQ(agents_.Lookup(tool, {"j"}).values, (Values{{"j", "3"}}));
  EXPECT_EQ(agents_.Lookup(other, {"j"}).status,
            agents_.Lookup(kC0, {"j"}).status);
  EXPECT_EQ(agents_.Unpublish(tool, {"k"}), kSuccess);
  EXPECT_EQ(agents_.Lookup(kB0, {"k"}).status, kErrNotFound);
  agents_.Disconnect(tool);
  agents_.Disconnect(other);
}

TEST_F(PublishingTest, APublicationOfAToolEndsWithItUnlessItPersists) {
  const ProcId tool{"tool", 0};
  agents_.AddTool(tool, 1);
  EXPECT_EQ(Publish(tool, "app", PMIX_RANGE_SESSION), kSuccess);
  EXPECT_EQ(Publish(tool, "proc", PMIX_RANGE_LOCAL, Persistence::kProc),
            kSuccess);
  EXPECT_EQ(Publish(tool, "stays", PMIX_RANGE_SESSION, Persistence::kSession),
            kSuccess);
  const RequestId waiting = agents_.BeginLookup(tool, {"never"}, Wait(0));
  agents_.Disconnect(tool);
  EXPECT_EQ(agents_.StatusOf(waiting), PublishingAgents::kPending);
  EXPECT_EQ(agents_.Lookup(kA1, {"app"}).status, kErrNotFound);
  EXPECT_EQ(LookupIn(kA1, "proc", PMIX_RANGE_LOCAL).status, kErrNotFound);
  EXPECT_EQ(agents_.Lookup(kA1, {"stays"}).status, kSuccess);
}

// -------------------------------------------------------------- the calls ---

TEST_F(PublishingTest, MalformedCallsAreRefused) {
  EXPECT_EQ(agents_.Publish(kA0, Infos()), kErrBadParam);
  EXPECT_EQ(agents_.Publish(kA0, Infos().Text(std::string(600, 'k'), "1")),
            kErrBadParam);
  EXPECT_EQ(agents_.Lookup(kA0, {}).status, kErrBadParam);
  EXPECT_EQ(agents_.Lookup(kA0, {""}).status, kErrBadParam);
  EXPECT_EQ(agents_.Lookup(kA0, std::vector<std::string>(5000, "k")).status,
            kErrOutOfResource);
  const RequestId cut = agents_.BeginPublish(kA0, Bytes("\5 what"));
  EXPECT_EQ(agents_.StatusOf(cut), kErrBadParam);
}

TEST_F(PublishingTest, RequiredUnknownDirectivesAreRefused) {
  const Value yes = Value::Bool(true);
  EXPECT_EQ(
      agents_.Publish(kA0, Infos().Text("k", "1").Add("pmix.what", yes, 1)),
      kErrNotSupported);
  EXPECT_EQ(agents_.Publish(kA0, Infos().Text("k", "1").Add("pmix.what", yes)),
            kSuccess);
  EXPECT_EQ(agents_.Lookup(kA0, {"k", "pmix.what"}).status, kErrPartialSuccess);
  EXPECT_EQ(
      agents_.Lookup(kA0, {"k"}, Infos().Add("mine", yes, 1).Take()).status,
      kErrNotSupported);
  EXPECT_EQ(agents_.Lookup(kA0, {"k"}, Infos().Add("mine", yes).Take()).status,
            kSuccess);
}

TEST_F(PublishingTest, RequiredDirectivesOfOtherFunctionsAreRefused) {
  const Value one = Value::Int(1);
  EXPECT_EQ(
      agents_.Publish(kA0, Infos().Text("k", "1").Add("pmix.wait", one, 1)),
      kErrNotSupported);
  EXPECT_EQ(agents_.Publish(kA0, Infos().Text("k", "1").Add("pmix.wait", one)),
            kSuccess);
  for (const char* key : {"pmix.persist", "pmix.aperms"}) {
    EXPECT_EQ(
        agents_.Lookup(kA0, {"k"}, Infos().Add(key, one, 1).Take()).status,
        kErrNotSupported);
    EXPECT_EQ(agents_.Lookup(kA0, {"k"}, Infos().Add(key, one).Take()).status,
              kSuccess);
  }
  EXPECT_EQ(
      agents_.Unpublish(kA0, {"k"}, Infos().Add("pmix.wait", one, 1).Take()),
      kErrNotSupported);
}

TEST_F(PublishingTest, ThePublishedBytesOfAJobAreBounded) {
  const std::string large(kMaxBytesOfJob / 4, 'x');
  int status = kSuccess;
  int published = 0;
  for (int i = 0; i < 5 && status == kSuccess; ++i) {
    status = agents_.Publish(kA0, "large" + std::to_string(i), large);
    published += status == kSuccess ? 1 : 0;
  }
  EXPECT_EQ(status, kErrOutOfResource);
  EXPECT_EQ(published, 3);
  EXPECT_EQ(agents_.Publish(kB0, "small", "1"), kSuccess);
  EXPECT_EQ(agents_.Unpublish(kA0, {"large0"}), kSuccess);
  EXPECT_EQ(agents_.Publish(kA0, "large", large), kSuccess);
}

TEST_F(PublishingTest, TheWaitingLookupsOfAProcessAreBounded) {
  for (size_t i = 0; i < kMaxLookupsOfClient; ++i) {
    agents_.BeginLookup(kA0, {"never"}, Wait(0));
  }
  EXPECT_EQ(agents_.Lookup(kA0, {"never"}, Wait(0)).status, kErrOutOfResource);
  EXPECT_EQ(agents_.Lookup(kA2, {"never"}).status, kErrNotFound);
}

TEST_F(PublishingTest, KeysAreSpreadOverTheAgents) {
  std::map<NodeId, int> owners;
  for (int i = 0; i < 1000; ++i) {
    ++owners[HomesOf("key" + std::to_string(i), agents_.tree(0)).owner];
  }
  ASSERT_EQ(owners.size(), 4u);
  for (const auto& [node, count] : owners) EXPECT_GT(count, 200) << node;
}

TEST_F(PublishingTest, ARemoteLookupTakesOneRoundTrip) {
  std::string key = "k";
  while (HomesOf(key, agents_.tree(0)).owner != 1) key += "k";
  ASSERT_EQ(agents_.Publish(kA0, key, "1"), kSuccess);
  const size_t before = agents_.delivered();
  ASSERT_EQ(agents_.Lookup(kB0, {key}).status, kSuccess);
  EXPECT_EQ(agents_.delivered() - before, 2u);
  ASSERT_EQ(agents_.Lookup(kA1, {key}).status, kSuccess);
  EXPECT_EQ(agents_.delivered() - before, 2u);
}

TEST(PublishingAlone, ASingleAgentSendsNoMessages) {
  PublishingAgents agents(1);
  agents.AddJob("a", {0, 0});
  EXPECT_EQ(agents.Publish(kA0, "k", "1"), kSuccess);
  EXPECT_EQ(agents.Publish({"a", 1}, "k", "1"), kErrDuplicateKey);
  EXPECT_EQ(agents.Lookup({"a", 1}, {"k"}).values, (Values{{"k", "1"}}));
  EXPECT_EQ(agents.Lookup({"a", 1}, {"none"}).status, kErrNotFound);
  EXPECT_EQ(agents.delivered(), 0u);
}

}  // namespace
}  // namespace canopy::core
