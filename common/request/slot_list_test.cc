#include "common/request/slot_list.h"

#include <gtest/gtest.h>

#include <string>

namespace canopy {
namespace {

using enum TopologyLevel;

CpuSet Cpus(const std::string& list) { return *CpuSet::Parse(list); }

// Returns two packages of two cores with two hardware threads each.
Topology Machine() {
  Topology machine;
  machine.at(kPackage) = {Cpus("0-1,4-5"), Cpus("2-3,6-7")};
  machine.at(kCore) = {Cpus("0,4"), Cpus("1,5"), Cpus("2,6"), Cpus("3,7")};
  machine.cpus = Cpus("0-7");
  return machine;
}

std::string CpusText(const std::string& slots) {
  const auto parts = ParseSlotList(slots);
  if (!parts.ok()) return parts.status().message();
  const auto cpus = CpusOf(*parts, Machine());
  return cpus.ok() ? cpus->ToString() : cpus.status().message();
}

TEST(SlotListTest, SelectsCoresOfTheMachineOrOfAPackage) {
  EXPECT_EQ(CpusText("0"), "0,4");
  EXPECT_EQ(CpusText("1-2"), "1-2,5-6");
  EXPECT_EQ(CpusText("0,3"), "0,3-4,7");
  EXPECT_EQ(CpusText("1:0"), "2,6");
  EXPECT_EQ(CpusText("1:0-1"), "2-3,6-7");
  EXPECT_EQ(CpusText("0:*"), "0-1,4-5");
  EXPECT_EQ(CpusText("*"), "0-7");
  EXPECT_EQ(CpusText("0:1;1:0"), "1-2,5-6");
}

TEST(SlotListTest, MissingCoresAndPackagesAreNamedInTheError) {
  EXPECT_EQ(CpusText("4"), "there is no core 4; they are numbered from 0 to 3");
  EXPECT_EQ(CpusText("1:2"),
            "there is no core 2 in package 1; they are numbered from 0 to 1");
  EXPECT_EQ(CpusText("2:0"),
            "there is no package 2; they are numbered from 0 to 1");
  const auto parts = ParseSlotList("0:0");
  EXPECT_EQ(CpusOf(*parts, Topology()).code(), kErrNotSupported);
}

TEST(SlotListTest, RejectsMalformedLists) {
  for (const char* text :
       {"", ":", "0:", ":0", "a", "0:a", "0-", "1:2:3", "0;", "-1", "0:*,1"}) {
    EXPECT_EQ(ParseSlotList(text).code(), kErrBadParam) << text;
  }
}

}  // namespace
}  // namespace canopy
