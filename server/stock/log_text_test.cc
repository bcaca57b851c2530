#include "server/stock/log_text.h"

#include <gtest/gtest.h>

#include "common/status.h"
#include "pmix_common.h"

namespace canopy::stock {
namespace {

using Lines = std::vector<std::string>;

TEST(LogText, TextsBecomeLines) {
  Lines lines;
  EXPECT_EQ(LinesToLog({{PMIX_LOG_STDERR, Value::String("a\n\nb\n")},
                        {PMIX_LOG_SYSLOG, Value::String("c\x1b[0m")},
                        {PMIX_LOG_SYSLOG_PRI, Value::Int(3)}},
                       &lines),
            kSuccess);
  EXPECT_EQ(lines, (Lines{"a", "b", "c?[0m"}));
}

TEST(LogText, LinesAreBounded) {
  Lines lines;
  const std::string text(100000, 'x');
  EXPECT_EQ(LinesToLog({{PMIX_LOG_STDERR, Value::String(text)}}, &lines),
            kSuccess);
  EXPECT_EQ(lines[0].size(), 1024u);
  lines.clear();
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "x\n";
  EXPECT_EQ(LinesToLog({{PMIX_LOG_STDERR, Value::String(many)}}, &lines),
            kErrPartialSuccess);
  EXPECT_EQ(lines.size(), 64u);
}

TEST(LogText, OtherPlacesAreNotClaimed) {
  Lines lines;
  EXPECT_EQ(LinesToLog({{PMIX_LOG_EMAIL, Value::String("x")}}, &lines),
            kErrNotSupported);
  EXPECT_EQ(LinesToLog({}, &lines), kErrNotSupported);
  EXPECT_EQ(LinesToLog({{PMIX_LOG_STDERR, Value::String("x")},
                        {PMIX_LOG_EMAIL, Value::String("x")}},
                       &lines),
            kErrPartialSuccess);
  InfoList required = {{PMIX_LOG_STDERR, Value::String("x")}};
  required.Add(PMIX_LOG_JOB_RECORD, Value::String("x"), PMIX_INFO_REQD);
  EXPECT_EQ(LinesToLog(required, &lines), kErrNotSupported);
}

}  // namespace
}  // namespace canopy::stock
