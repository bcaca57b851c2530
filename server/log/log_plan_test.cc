#include "server/log/log_plan.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/status.h"
#include "common/values/value.h"
#include "pmix_common.h"

namespace canopy::log {
namespace {

const ProcId kCaller = {"job", 3};
constexpr time_t kNow = 1000000000;  // 2001-09-09T01:46:40Z

LogPlan Plan(const InfoList& data, const InfoList& directives = {},
             time_t stamp = 0) {
  return PlanLog(data, directives, stamp, kCaller, kNow);
}

InfoList Error(const std::string& text) {
  return {{PMIX_LOG_STDERR, Value::String(text)}};
}

InfoList Required(const char* key, const Value& value) {
  InfoList infos;
  infos.Add(key, value, PMIX_INFO_REQD);
  return infos;
}

std::string Texts(const LogPlan& plan) {
  std::string out;
  for (const Entry& entry : plan.entries) {
    const bool is_syslog = entry.channel == Channel::kSyslog;
    out += is_syslog
               ? "S" + std::to_string(entry.priority)
               : std::string(entry.channel == Channel::kStderr ? "E" : "O");
    out += ":" + entry.text + "|";
  }
  return out;
}

TEST(LogPlan, ThePlanKeepsTextsUnchanged) {
  const LogPlan plan = Plan({{PMIX_LOG_STDERR, Value::String("a\n\nb")},
                             {PMIX_LOG_STDOUT, Value::String("\x1b[0m")}});
  EXPECT_EQ(plan.status, kSuccess);
  EXPECT_EQ(Texts(plan), "E:a\n\nb|O:\x1b[0m|");
  EXPECT_EQ(plan.key + plan.value, "");
  EXPECT_TRUE(plan.ignored.empty());
}

TEST(LogPlan, Job25UnsupportedDestinationsAreRefused) {
  for (const char* key :
       {PMIX_LOG_GLOBAL_SYSLOG, PMIX_LOG_EMAIL, PMIX_LOG_JOB_RECORD,
        PMIX_LOG_GLOBAL_DATASTORE, PMIX_LOG_MSG, "mine"}) {
    const LogPlan plan = Plan({{key, Value::String("x")}});
    EXPECT_EQ(plan.status, kErrNotSupported) << key;
    EXPECT_TRUE(plan.entries.empty()) << key;
  }
  EXPECT_EQ(Plan({}).status, kErrNotSupported);
  EXPECT_EQ(Plan({{PMIX_LOG_STDERR, Value::Int(1)}}).status, kErrNotSupported);
}

TEST(LogPlan, AnUnsupportedDestinationBesideASupportedOneIsPartialSuccess) {
  InfoList data = Error("x");
  data.Add(PMIX_LOG_GLOBAL_SYSLOG, Value::String("y"));
  EXPECT_EQ(Plan(data).status, kErrPartialSuccess);
  EXPECT_EQ(Texts(Plan(data)), "E:x|");
  data.Add(PMIX_LOG_JOB_RECORD, Value::String("z"), PMIX_INFO_REQD);
  EXPECT_EQ(Plan(data).status, kErrNotSupported);
  EXPECT_EQ(Texts(Plan(data)), "");
}

// The plan does not know yet which destination accepts the text.
TEST(LogPlan, Job23OnceListsSupportedDestinationsInTheirOrder) {
  const InfoList data = {{PMIX_LOG_EMAIL, Value::String("a")},
                         {PMIX_LOG_STDOUT, Value::String("b")},
                         {PMIX_LOG_STDERR, Value::String("c")}};
  const InfoList once = {{PMIX_LOG_ONCE, Value::Bool(true)}};
  EXPECT_EQ(Plan(data, once).status, kSuccess);
  EXPECT_TRUE(Plan(data, once).once);
  EXPECT_EQ(Texts(Plan(data, once)), "O:b|E:c|");
  const InfoList all = {{PMIX_LOG_ONCE, Value::Bool(false)}};
  EXPECT_FALSE(Plan(data, all).once);
  EXPECT_EQ(Plan(data, all).status, kErrPartialSuccess);
}

TEST(LogPlan, Job22SyslogEntriesHaveThePriorityOfTheRequest) {
  const InfoList data = {{PMIX_LOG_SYSLOG, Value::String("a")},
                         {PMIX_LOG_LOCAL_SYSLOG, Value::String("b")}};
  EXPECT_EQ(Texts(Plan(data)), "S3:a|S3:b|");
  EXPECT_EQ(Texts(Plan(data, Required(PMIX_LOG_SYSLOG_PRI, Value::Int(7)))),
            "S7:a|S7:b|");
  for (const int priority : {-1, 8, 1 << 20}) {
    const InfoList directives =
        Required(PMIX_LOG_SYSLOG_PRI, Value::Int(priority));
    EXPECT_EQ(Plan(data, directives).status, kErrNotSupported) << priority;
  }
  const InfoList time = {{PMIX_LOG_TIMESTAMP, Value::Time(kNow + 2)}};
  EXPECT_EQ(Plan(data, time, kNow + 1).time, kNow + 2);
  EXPECT_EQ(Plan(data, {}, kNow + 1).time, kNow + 1);
  EXPECT_EQ(Plan(data).time, kNow);
}

TEST(LogPlan, DirectivesAddTimeAndChannelToTheText) {
  const InfoList time = {{PMIX_LOG_TIMESTAMP_OUTPUT, Value::Bool(true)}};
  EXPECT_EQ(Texts(Plan(Error("x"), time)), "E:2001-09-09T01:46:40Z x|");
  EXPECT_EQ(Texts(Plan(Error("x"), time, kNow + 1)),
            "E:2001-09-09T01:46:41Z x|");
  InfoList both = time;
  both.Add(PMIX_LOG_TAG_OUTPUT, Value::Bool(true));
  both.Add(PMIX_LOG_GENERATE_TIMESTAMP, Value::Bool(true), PMIX_INFO_REQD);
  EXPECT_EQ(Texts(Plan(Error("x"), both)), "E:2001-09-09T01:46:40Z stderr: x|");
}

TEST(LogPlan, ThePlanHasKeyAndValueUnlessAggregationIsOff) {
  InfoList directives = {{PMIX_LOG_KEY, Value::String("file")},
                         {PMIX_LOG_VAL, Value::String("topic")}};
  EXPECT_EQ(Plan(Error("x"), directives).key, "file");
  EXPECT_EQ(Plan(Error("x"), directives).value, "topic");
  directives.Add(PMIX_LOG_AGG, Value::Bool(true), PMIX_INFO_REQD);
  EXPECT_EQ(Plan(Error("x"), directives).key, "file");
  directives.Set(PMIX_LOG_AGG, Value::Bool(false));
  EXPECT_EQ(Plan(Error("x"), directives).key, "");
  EXPECT_EQ(Plan(Error("x"), {{PMIX_LOG_KEY, Value::String("file")}}).key, "");
  const LogPlan large =
      Plan(Error("x"), {{PMIX_LOG_KEY, Value::String(std::string(600, 'k'))},
                        {PMIX_LOG_VAL, Value::String("topic")}});
  EXPECT_EQ(large.value, "");
  EXPECT_EQ(large.ignored, std::vector<std::string>{PMIX_LOG_KEY});
}

TEST(LogPlan, DirectivesAreHonouredOrRefused) {
  const std::vector<std::pair<const char*, Value>> refused = {
      {PMIX_LOG_XML_OUTPUT, Value::Bool(true)},
      {PMIX_LOG_SYSLOG_PRI, Value::Int(8)},
      {PMIX_LOG_SOURCE, Value::Proc({"job", 4})},
      {"mine", Value::Int(1)}};
  for (const auto& [key, value] : refused) {
    EXPECT_EQ(Plan(Error("x"), Required(key, value)).status, kErrNotSupported);
    const LogPlan optional = Plan(Error("x"), {{key, value}});
    EXPECT_EQ(optional.status, kSuccess) << key;
    EXPECT_EQ(Texts(optional), "E:x|") << key;
    EXPECT_EQ(optional.ignored, std::vector<std::string>{key});
  }
  const std::vector<std::pair<const char*, Value>> honoured = {
      {PMIX_LOG_XML_OUTPUT, Value::Bool(false)},
      {PMIX_LOG_SOURCE, Value::Proc(kCaller)},
      {PMIX_USERID, Value::Uint32(0)}};
  for (const auto& [key, value] : honoured) {
    EXPECT_EQ(Plan(Error("x"), Required(key, value)).status, kSuccess) << key;
  }
}

TEST(LogPlan, DirectivesAmongTheDataTakeEffect) {
  InfoList data = Error("x");
  data.Add(PMIX_LOG_TAG_OUTPUT, Value::Bool(true));
  EXPECT_EQ(Plan(data).status, kSuccess);
  EXPECT_EQ(Texts(Plan(data)), "E:stderr: x|");
  data.Add(PMIX_LOG_XML_OUTPUT, Value::Bool(true), PMIX_INFO_REQD);
  EXPECT_EQ(Plan(data).status, kErrNotSupported);
}

}  // namespace
}  // namespace canopy::log
