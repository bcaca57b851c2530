#include "server/kubernetes/api/watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/event_loop.h"
#include "server/kubernetes/api/http_server_testing.h"
#include "server/kubernetes/api/loop_testing.h"

namespace canopy::kubernetes {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Json Object(const std::string& name, const std::string& version,
            const std::string& uid) {
  return {{"metadata",
           {{"namespace", "n"},
            {"name", name},
            {"uid", uid},
            {"resourceVersion", version}}},
          {"spec", {{"nodeName", "node"}}}};
}

Json Object(const std::string& name, const std::string& version) {
  return Object(name, version, "uid-" + name);
}

ServedAnswer List(const std::string& version, const std::vector<Json>& items,
                  const std::string& next = "") {
  const Json metadata = {{"resourceVersion", version}, {"continue", next}};
  return {200, JsonText({{"metadata", metadata}, {"items", items}})};
}

std::string Event(const std::string& type, const Json& object) {
  return JsonText({{"type", type}, {"object", object}}) + "\n";
}

ServedAnswer Stream(const std::string& body = "") {
  return {200, body, {}, /*is_stream=*/true};
}

WatchLimits QuickLimits() {
  WatchLimits limits;
  limits.first_pause_ns = 1'000'000;
  limits.longest_pause_ns = 4'000'000;
  return limits;
}

class WatchTest : public testing::Test {
 protected:
  void Begin(const WatchLimits& limits = QuickLimits()) {
    WatchOptions options;
    options.path = "/api/v1/pods";
    options.label_selector = "a=b";
    options.field_selector = "spec.nodeName=node";
    options.on_object = [this](Change change, const Json& object) {
      Record(change, object);
      if (on_object_) on_object_();
    };
    options.on_synced = [this] {
      seen_.emplace_back("synced");
      if (on_synced_) on_synced_();
    };
    options.on_problem = [this](const Status& problem) {
      problems_.push_back(problem.code());
      if (on_problem_) on_problem_();
    };
    options.limits = limits;
    watch_ = std::make_unique<Watch>(&client_, options);
  }

  void Record(Change change, const Json& object) {
    const char* names[] = {"added ", "modified ", "deleted "};
    const Json& metadata = At(object, "metadata");
    seen_.push_back(names[static_cast<int>(change)] +
                    std::string(TextAt(metadata, "name")) + " " +
                    std::string(TextAt(metadata, "resourceVersion")));
  }

  bool Wait(const std::function<bool()>& holds) {
    return RunUntil(&loop_, holds);
  }
  // Waits for as many calls, and returns and forgets them.
  std::vector<std::string> Seen(size_t count) {
    Wait([&] { return seen_.size() >= count; });
    return std::exchange(seen_, {});
  }
  std::vector<std::string> Targets(size_t count) {
    Wait([&] { return server_.Requests().size() >= count; });
    std::vector<std::string> targets;
    for (const auto& request : server_.Requests()) {
      targets.push_back(request.target);
    }
    return targets;
  }
  void WaitForStream() {
    ASSERT_TRUE(Wait([this] { return server_.HasStream(); }));
  }
  // Begins a watch that has reported the object "a" in version 1 of the list
  // 10, and whose stream is open.
  void BeginWithStream(const WatchLimits& limits = QuickLimits()) {
    server_.Answer(List("10", {Object("a", "1")}));
    server_.Answer(Stream());
    Begin(limits);
    ASSERT_THAT(Seen(2), ElementsAre("added a 1", "synced"));
    WaitForStream();
  }

  EventLoop loop_;
  HttpTestServer server_;
  ApiClient client_{&loop_, ApiServer{server_.Url(), "", ""}};
  std::unique_ptr<Watch> watch_;
  std::vector<std::string> seen_;
  std::vector<int> problems_;
  std::function<void()> on_object_;
  std::function<void()> on_synced_;
  std::function<void()> on_problem_;
};

TEST_F(WatchTest, ListsThenReportsChanges) {
  BeginWithStream();
  server_.Push(Event("ADDED", Object("b", "11")));
  server_.Push(Event("MODIFIED", Object("a", "12")) +
               Event("DELETED", Object("b", "13")));
  EXPECT_THAT(Seen(3),
              ElementsAre("added b 11", "modified a 12", "deleted b 13"));
  EXPECT_THAT(problems_, IsEmpty());
}

TEST_F(WatchTest, RequestsFromTheServersCacheWithItsSelectors) {
  BeginWithStream();
  const std::string selectors =
      "&labelSelector=a%3Db&fieldSelector=spec.nodeName%3Dnode";
  const auto targets = Targets(2);
  EXPECT_EQ(targets[0],
            "/api/v1/pods?limit=500&resourceVersion=0"
            "&resourceVersionMatch=NotOlderThan" +
                selectors);
  EXPECT_THAT(targets[1],
              HasSubstr("?watch=1&allowWatchBookmarks=true&timeoutSeconds="));
  EXPECT_THAT(targets[1], EndsWith("&resourceVersion=10" + selectors));
}

TEST_F(WatchTest, ReadsAllPagesOfAList) {
  server_.Answer(List("10", {Object("a", "1"), Object("b", "2")}, "next/1"));
  server_.Answer(List("10", {}, "next/2"));
  server_.Answer(List("10", {Object("c", "3")}));
  Begin();
  EXPECT_THAT(Seen(4),
              ElementsAre("added a 1", "added b 2", "added c 3", "synced"));
  const auto targets = Targets(4);
  EXPECT_THAT(targets[1], HasSubstr("?limit=500&continue=next%2F1&label"));
  EXPECT_THAT(targets[2], HasSubstr("?limit=500&continue=next%2F2&label"));
}

TEST_F(WatchTest, ContinuesADroppedStreamWhereItEnded) {
  BeginWithStream();
  server_.Push(Event("MODIFIED", Object("a", "11")));
  server_.Push(Event("BOOKMARK", {{"metadata", {{"resourceVersion", "15"}}}}));
  EXPECT_THAT(Seen(1), ElementsAre("modified a 11"));
  server_.Push(Event("MODIFIED", Object("a", "16")));
  EXPECT_THAT(Seen(1), ElementsAre("modified a 16"));
  server_.Push(Event("BOOKMARK", {{"metadata", {{"resourceVersion", "20"}}}}) +
               Event("ADDED", Object("b", "21")).substr(0, 40));
  server_.Drop();
  server_.Answer(Stream(Event("ADDED", Object("b", "21"))));
  EXPECT_THAT(Seen(1), ElementsAre("added b 21"));
  EXPECT_THAT(Targets(3).back(), HasSubstr("&resourceVersion=20&"));
  EXPECT_THAT(problems_, IsEmpty());
}

TEST_F(WatchTest, ContinuesAStreamWhoseTimeIsOver) {
  BeginWithStream();
  server_.EndStreams();
  server_.Answer(Stream(Event("DELETED", Object("a", "11"))));
  EXPECT_THAT(Seen(1), ElementsAre("deleted a 11"));
  EXPECT_THAT(Targets(3).back(), HasSubstr("&resourceVersion=10&"));
}

TEST_F(WatchTest, DropsAStreamThatIsSilent) {
  WatchLimits limits = QuickLimits();
  limits.silence_ns = 50'000'000;
  server_.Answer(List("10", {}));
  server_.Answer({.is_silent = true});
  Begin(limits);
  Targets(2);
  server_.Answer(Stream(Event("ADDED", Object("a", "11"))));
  EXPECT_THAT(Seen(2), ElementsAre("synced", "added a 11"));
}

TEST_F(WatchTest, AStreamIsNotSilentWhileBookmarksArrive) {
  WatchLimits limits = QuickLimits();
  limits.silence_ns = 500'000'000;
  BeginWithStream(limits);
  const int64_t begin = EventLoop::Now();
  while (EventLoop::Now() - begin < 1'000'000'000) {
    server_.Push(
        Event("BOOKMARK", {{"metadata", {{"resourceVersion", "11"}}}}));
    loop_.RunOnce(5);
  }
  EXPECT_EQ(server_.Requests().size(), 2u);
}

TEST_F(WatchTest, ListsAgainIfTheVersionHasExpired) {
  BeginWithStream();
  server_.Drop();
  server_.Answer({410, R"({"message":"too old resource version"})"});
  server_.Answer(List("30", {Object("a", "25"), Object("c", "26")}));
  server_.Answer(Stream());
  EXPECT_THAT(Seen(3), ElementsAre("modified a 25", "added c 26", "synced"));
  const auto targets = Targets(5);
  EXPECT_THAT(targets[3], HasSubstr("&resourceVersion=10&"));
  EXPECT_THAT(targets[4], HasSubstr("&resourceVersion=30&"));
  EXPECT_THAT(problems_, IsEmpty());
}

TEST_F(WatchTest, ListsAgainIfAStreamReportsThatTheVersionHasExpired) {
  BeginWithStream();
  server_.Push(Event("ERROR", {{"kind", "Status"}, {"code", 410}}));
  server_.Answer(List("30", {Object("b", "25")}));
  EXPECT_THAT(Seen(3), ElementsAre("added b 25", "deleted a 1", "synced"));
  EXPECT_THAT(problems_, IsEmpty());
}

TEST_F(WatchTest, ReportsOtherErrorsOfAStream) {
  BeginWithStream();
  server_.Push(Event("ERROR", {{"code", 500}, {"message", "etcd"}}));
  server_.Answer(List("30", {Object("a", "1")}));
  EXPECT_THAT(Seen(1), ElementsAre("synced"));
  EXPECT_THAT(problems_, ElementsAre(kErrServerFailedRequest, kSuccess));
}

TEST_F(WatchTest, ReadsTheNewestListIfTheServersCacheLacksTheVersion) {
  BeginWithStream();
  server_.Push(Event("ERROR", {{"code", 410}}));
  server_.Answer({504, R"({"message":"Too large resource version: 10"})"});
  server_.Answer(List("3", {Object("a", "2")}));
  EXPECT_THAT(Seen(2), ElementsAre("modified a 2", "synced"));
  const auto targets = Targets(5);
  EXPECT_THAT(targets[3], Not(HasSubstr("resourceVersion")));
  EXPECT_THAT(targets[4], HasSubstr("&resourceVersion=3&"));
}

TEST_F(WatchTest, StartsAListAgainWhosePlaceHasExpired) {
  server_.Answer(List("10", {Object("a", "1"), Object("b", "2")}, "next"));
  server_.Answer({410, "{}"});
  server_.Answer(List("30", {Object("b", "2"), Object("c", "20")}));
  Begin();
  EXPECT_THAT(Seen(5), ElementsAre("added a 1", "added b 2", "added c 20",
                                   "deleted a 1", "synced"));
  EXPECT_THAT(Targets(3)[2], Not(HasSubstr("continue")));
}

TEST_F(WatchTest, ReportsDeletionsWhileTheServerWasAway) {
  BeginWithStream();
  server_.Push(Event("ADDED", Object("b", "11")));
  EXPECT_THAT(Seen(1), ElementsAre("added b 11"));
  server_.GoAway();
  ASSERT_TRUE(Wait([this] { return !problems_.empty(); }));
  EXPECT_THAT(problems_, ElementsAre(kErrUnreach));
  server_.Answer({410, "{}"});
  server_.Answer(List("90", {Object("b", "80")}));
  server_.ComeBack();
  EXPECT_THAT(Seen(3), ElementsAre("modified b 80", "deleted a 1", "synced"));
  EXPECT_THAT(problems_, ElementsAre(kErrUnreach, kSuccess));
}

TEST_F(WatchTest, AnObjectThatReplacesAnotherIsNew) {
  BeginWithStream();
  server_.Push(Event("ERROR", {{"code", 410}}));
  server_.Answer(List("30", {Object("a", "25", "other")}));
  EXPECT_THAT(Seen(3), ElementsAre("deleted a 1", "added a 25", "synced"));
}

TEST_F(WatchTest, WaitsAsLongAsTheServerRequests) {
  server_.Answer({429, R"({"message":"slow down"})", {"Retry-After: 1"}});
  server_.Answer(List("10", {}));
  const int64_t begin = EventLoop::Now();
  Begin();
  EXPECT_THAT(Seen(1), ElementsAre("synced"));
  EXPECT_GE(EventLoop::Now() - begin, 1'000'000'000);
  EXPECT_THAT(problems_, ElementsAre(kErrServerFailedRequest, kSuccess));
}

TEST_F(WatchTest, ReportsAProblemOnceAndItsEnd) {
  server_.Answer({404, R"({"message":"no such resource"})"});
  server_.Answer({404, R"({"message":"no such resource"})"});
  server_.Answer({403, R"({"message":"forbidden"})"});
  server_.Answer({403, R"({"message":"forbidden"})"});
  server_.Answer(List("10", {}));
  Begin();
  EXPECT_THAT(Seen(1), ElementsAre("synced"));
  EXPECT_THAT(problems_,
              ElementsAre(kErrNotFound, kErrNoPermissions, kSuccess));
}

TEST_F(WatchTest, ReportsAStreamThatTheServerRefuses) {
  server_.Answer(List("10", {}));
  server_.Answer({403, R"({"message":"no watch"})"});
  server_.Answer(Stream(Event("ADDED", Object("a", "11"))));
  Begin();
  EXPECT_THAT(Seen(2), ElementsAre("synced", "added a 11"));
  EXPECT_THAT(problems_, ElementsAre(kErrNoPermissions, kSuccess));
}

TEST_F(WatchTest, ListsAgainAfterALineThatIsTooLongOrMalformed) {
  WatchLimits limits = QuickLimits();
  limits.max_line = 1000;
  BeginWithStream(limits);
  const std::vector<std::string> bad = {
      std::string(1001, 'x'),
      "no JSON\n",
      "{}\n",
      "[]\n",
      R"({"type":"ADDED","object":[]})"
      "\n",
      Event("OTHER", Object("b", "11")),
      Event("ADDED", {{"metadata", {{"name", "b"}}}})};
  for (const std::string& text : bad) {
    server_.Answer(List("10", {Object("a", "1")}));
    server_.Answer(Stream());
    server_.Push(text);
    EXPECT_THAT(Seen(1), ElementsAre("synced")) << text;
    WaitForStream();
  }
}

TEST_F(WatchTest, SplitsLinesAtAnyPlace) {
  BeginWithStream();
  const std::string text = Event("ADDED", Object("b", "11")) + "\n" +
                           Event("DELETED", Object("b", "12"));
  for (const char c : text) server_.Push(std::string(1, c));
  EXPECT_THAT(Seen(2), ElementsAre("added b 11", "deleted b 12"));
}

TEST_F(WatchTest, ReadsSmallerPagesIfOneIsTooLarge) {
  WatchLimits limits = QuickLimits();
  limits.max_page = 1000;
  server_.Answer({200, std::string(1001, ' ')});
  server_.Answer(List("10", {Object("a", "1")}));
  Begin(limits);
  EXPECT_THAT(Seen(2), ElementsAre("added a 1", "synced"));
  EXPECT_THAT(Targets(2)[1], HasSubstr("?limit=125&label"));
}

TEST_F(WatchTest, AListThatIsMalformedReportsNoDeletions) {
  BeginWithStream();
  server_.Push(Event("ERROR", {{"code", 410}}));
  server_.Answer({200, "{}"});
  server_.Answer({200, "[1]"});
  server_.Answer({200, R"({"metadata":{"resourceVersion":5},"items":{}})"});
  server_.Answer(List("30", {Object("a", "1"), Json(7), Json::object()}));
  EXPECT_THAT(Seen(1), ElementsAre("synced"));
  EXPECT_THAT(problems_, ElementsAre(kErrUnpackFailure, kSuccess));
}

TEST_F(WatchTest, ReadsALargeListInTurns) {
  std::vector<Json> objects;
  for (int i = 0; i < 5'000; ++i) {
    objects.push_back(Object(std::to_string(i), "1"));
  }
  server_.Answer(List("10", objects));
  std::set<uint64_t> rounds;
  on_object_ = [&] { rounds.insert(loop_.round()); };
  Begin();
  EXPECT_EQ(Seen(objects.size() + 1).size(), objects.size() + 1);
  EXPECT_GT(rounds.size(), 1u);
  // The watch may be destroyed between two turns.
  server_.Answer(List("10", objects));
  on_object_ = nullptr;
  Begin();
  EXPECT_LT(Seen(1).size(), objects.size());
  watch_.reset();
  for (int i = 0; i < 5; ++i) loop_.RunOnce(5);
  EXPECT_THAT(seen_, IsEmpty());
}

TEST_F(WatchTest, ListsAgainAfterAnObjectThatIsMalformed) {
  for (const char* text :
       {R"({"metadata":{"resourceVersion":"5"},"items":[{"a":nil}]})",
        R"({"metadata":{"resourceVersion":"5"},"items":[{}]]})"}) {
    server_.Answer({200, text});
    server_.Answer(List("10", {Object("a", "1")}));
    problems_.clear();
    Begin();
    EXPECT_THAT(Seen(2), ElementsAre("added a 1", "synced"));
    EXPECT_THAT(problems_, ElementsAre(kErrUnpackFailure, kSuccess));
    watch_.reset();
  }
}

TEST_F(WatchTest, LimitsTheNumberOfObjects) {
  WatchLimits limits = QuickLimits();
  limits.max_objects = 1;
  server_.Answer(List("10", {Object("a", "1"), Object("b", "2")}));
  Begin(limits);
  ASSERT_TRUE(Wait([this] { return !problems_.empty(); }));
  EXPECT_THAT(seen_, ElementsAre("added a 1"));
  EXPECT_THAT(problems_, ElementsAre(kErrOutOfResource));
}

TEST_F(WatchTest, ADestroyedWatchCallsNoCallbacks) {
  BeginWithStream();
  server_.Push(Event("ADDED", Object("b", "11")));
  watch_.reset();
  for (int i = 0; i < 5; ++i) loop_.RunOnce(5);
  EXPECT_THAT(seen_, IsEmpty());
  // During a list, and during a pause.
  Begin();
  watch_.reset();
  server_.Answer({503, ""});
  Begin();
  ASSERT_TRUE(Wait([this] { return !problems_.empty(); }));
  const size_t requests = server_.Requests().size();
  watch_.reset();
  for (int i = 0; i < 5; ++i) loop_.RunOnce(5);
  EXPECT_EQ(server_.Requests().size(), requests);
  EXPECT_THAT(seen_, IsEmpty());
}

TEST_F(WatchTest, CallbacksMayDestroyTheWatch) {
  const auto destroy = [this] { watch_.reset(); };
  on_object_ = destroy;
  server_.Answer(List("10", {Object("a", "1"), Object("b", "2")}));
  Begin();
  EXPECT_THAT(Seen(1), ElementsAre("added a 1"));

  on_object_ = nullptr;
  on_synced_ = destroy;
  server_.Answer(List("10", {}));
  Begin();
  EXPECT_THAT(Seen(1), ElementsAre("synced"));

  on_synced_ = nullptr;
  on_problem_ = destroy;
  server_.Answer({503, ""});
  Begin();
  ASSERT_TRUE(Wait([this] { return !problems_.empty(); }));

  on_problem_ = nullptr;
  BeginWithStream();
  on_object_ = destroy;
  server_.Push(Event("ADDED", Object("b", "11")) +
               Event("ADDED", Object("c", "12")));
  EXPECT_THAT(Seen(1), ElementsAre("added b 11"));
  for (int i = 0; i < 5; ++i) loop_.RunOnce(5);
  EXPECT_THAT(seen_, IsEmpty());
  EXPECT_EQ(watch_, nullptr);
}

}  // namespace
}  // namespace canopy::kubernetes
