#include "common/output_xml.h"

#include <gtest/gtest.h>

namespace canopy {
namespace {

TEST(OutputXmlTest, EachLineBecomesOneXmlElement) {
  EXPECT_EQ(OutputElement("stdout", {"job-1", 2}, "", "a < b & \"c\"\t\n"),
            "<stdout nspace=\"job-1\" rank=\"2\">a &lt; b &amp; "
            "&quot;c&quot;&#9;</stdout>\n");
  EXPECT_EQ(OutputElement("stderr", {"j>", 0}, "now", "part"),
            "<stderr nspace=\"j&gt;\" rank=\"0\" timestamp=\"now\">part"
            "</stderr>\n");
}

}  // namespace
}  // namespace canopy
