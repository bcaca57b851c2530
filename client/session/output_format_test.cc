#include "client/session/output_format.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace canopy::client {
namespace {

const ProcId kSource{"job", 3};

OutputFormatter Make(const OutputFormat& format, uint16_t channel = 2) {
  return OutputFormatter(format, kSource, channel, [] { return 0; });
}

TEST(OutputFormat, LinesAreHeldUntilTheyAreWholeUnlessRaw) {
  OutputFormatter lines = Make({});
  EXPECT_EQ(lines.Add("one\ntw"), "one\n");
  EXPECT_EQ(lines.Add("o\n"), "two\n");
  EXPECT_EQ(lines.Add("rest"), "");
  EXPECT_EQ(lines.Flush(), "rest");
  EXPECT_EQ(lines.Flush(), "");
  OutputFormatter raw = Make({.raw = true});
  EXPECT_EQ(raw.Add("one\ntw"), "one\ntw");
  EXPECT_EQ(raw.Flush(), "");
}

TEST(OutputFormat, EachLineIsMarked) {
  OutputFormatter tag = Make({.tag = true});
  EXPECT_EQ(tag.Add("one\ntwo\n"),
            "[job,3]<stdout>: one\n[job,3]<stdout>: two\n");
  OutputFormatter rank = Make({.rank = true}, 4);
  EXPECT_EQ(rank.Add("one\ntw"), "[3]<stderr>: one\n");
  EXPECT_EQ(rank.Flush(), "[3]<stderr>: tw\n");
  OutputFormatter both = Make({.tag = true, .rank = true}, 8);
  EXPECT_EQ(both.Add("\n"), "[job,3]<stddiag>: \n");
}

TEST(OutputFormat, TheTimeStampIsTheTimeOfArrival) {
  ASSERT_EQ(setenv("TZ", "UTC", 1), 0);
  tzset();
  OutputFormatter time = Make({.tag = true, .timestamp = true});
  EXPECT_EQ(time.Add("one\n"),
            "1970-01-01T00:00:00+0000[job,3]<stdout>: one\n");
  OutputFormatter alone = Make({.timestamp = true});
  EXPECT_EQ(alone.Add("one\n"), "1970-01-01T00:00:00+0000<stdout>: one\n");
}

TEST(OutputFormat, XmlEscapesSpecialCharacters) {
  OutputFormatter xml = Make({.xml = true});
  EXPECT_EQ(xml.Add("a<b> & \"c\"\t\xff\n"),
            "<stdout nspace=\"job\" rank=\"3\">"
            "a&lt;b&gt; &amp; &quot;c&quot;&#9;&#255;</stdout>\n");
}

TEST(OutputFormat, AnUnfinishedLineIsReleasedAtALimit) {
  OutputFormatter lines = Make({});
  const std::string half(size_t{40} << 10, 'x');
  EXPECT_EQ(lines.Add(half), "");
  EXPECT_EQ(lines.Add(half).size(), 2 * half.size());
}

TEST(OutputFormat, RawOutputIsMarkedAtOnce) {
  OutputFormatter raw = Make({.tag = true, .raw = true});
  EXPECT_EQ(raw.Add("one"), "[job,3]<stdout>: one\n");
}

}  // namespace
}  // namespace canopy::client
