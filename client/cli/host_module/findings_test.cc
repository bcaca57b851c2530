#include "client/cli/host_module/findings.h"

#include <gtest/gtest.h>

#include <string>

namespace canopy::cli {
namespace {

TEST(FindingsTest, EachCaseListsTheProblemsFoundInIt) {
  v1::SlotCheck slot;
  Findings findings(&slot);
  findings.Begin("good");
  EXPECT_TRUE(findings.Expect(true, "this", "that"));
  findings.Begin("bad");
  EXPECT_FALSE(findings.Expect(false, "this", "that"));
  EXPECT_TRUE(findings.failed());
  ASSERT_EQ(slot.cases_size(), 2);
  EXPECT_EQ(slot.cases(0).result(), "ok");
  EXPECT_EQ(slot.cases(1).result(), "failed");
  EXPECT_EQ(slot.cases(1).problems(0), "expected this; got that");
  EXPECT_EQ(slot.problems(0), "expected this; got that");
}

TEST(FindingsTest, TheJUnitTextListsEachCaseWithItsFailures) {
  v1::HostModuleCheck check;
  check.set_name("a & b");
  v1::SlotCheck* const slot = check.add_slots();
  slot->set_slot("attach");
  Findings findings(slot);
  findings.Begin("good");
  findings.Begin("bad");
  findings.Fail("got \"<x>\"\x1b");
  EXPECT_EQ(JUnitText(check),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<testsuite name=\"canopy host-module check of a &amp; b\" "
            "tests=\"2\" failures=\"1\">\n"
            "  <testcase classname=\"attach\" name=\"good\">\n"
            "  </testcase>\n"
            "  <testcase classname=\"attach\" name=\"bad\">\n"
            "    <failure message=\"got &quot;&lt;x>&quot;?\"/>\n"
            "  </testcase>\n"
            "</testsuite>\n");
}

}  // namespace
}  // namespace canopy::cli
