#include "server/kubernetes/api/watch_event.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace canopy::kubernetes {
namespace {

TEST(WatchEventTest, ReadsEventsOfAllKinds) {
  using Kind = WatchEvent::Kind;
  const std::pair<const char*, Kind> kinds[] = {{"ADDED", Kind::kAdded},
                                                {"MODIFIED", Kind::kModified},
                                                {"DELETED", Kind::kDeleted},
                                                {"BOOKMARK", Kind::kBookmark},
                                                {"ERROR", Kind::kError}};
  for (const auto& [name, kind] : kinds) {
    const auto event = ParseWatchEvent(std::string(R"({"type":")") + name +
                                       R"(","object":{"a":"b"}})");
    ASSERT_TRUE(event) << name;
    EXPECT_EQ(event->kind, kind);
    EXPECT_EQ(TextAt(event->object, "a"), "b");
  }
}

TEST(WatchEventTest, RejectsLinesThatAreNoEvents) {
  for (const char* line :
       {"", "x", "{}", "[]", R"({"type":"ADDED"})", R"({"object":{}})",
        R"({"type":"ADDED","object":[]})", R"({"type":"added","object":{}})",
        R"({"type":1,"object":{}})"}) {
    EXPECT_FALSE(ParseWatchEvent(line)) << line;
  }
}

}  // namespace
}  // namespace canopy::kubernetes
