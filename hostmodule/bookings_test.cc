#include "hostmodule/bookings.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "hostmodule/mapper_testing.h"

namespace canopy::host {
namespace {

using Counts = std::vector<uint32_t>;

BoundProc Proc(const std::string& cpus, uint32_t cores = 1) {
  return {*CpuSet::Parse(cpus), cores};
}

Counts Booked(const char* machine, TopologyLevel level,
              const std::vector<BoundProc>& procs) {
  return BookedCpus(*Machine(machine), level, procs);
}

TEST(Bookings, NothingIsBookedWithoutProcesses) {
  EXPECT_EQ(Booked("core:3 pu:1", TopologyLevel::kCore, {}), (Counts{0, 0, 0}));
  EXPECT_EQ(BookedCpus(Topology(), TopologyLevel::kCore, {Proc("0")}),
            Counts{});
}

TEST(Bookings, AProcessBooksTheCoresThatItIsBoundTo) {
  EXPECT_EQ(Booked("core:3 pu:1", TopologyLevel::kCore, {Proc("1")}),
            (Counts{0, 1, 0}));
  EXPECT_EQ(Booked("core:3 pu:1", TopologyLevel::kCore, {Proc("0,2", 2)}),
            (Counts{1, 0, 1}));
}

TEST(Bookings, TheBookingOfAPackageCountsTheNeededCores) {
  // Four cores of two hardware threads in each package.
  EXPECT_EQ(Booked(kTwoPackages, TopologyLevel::kPackage,
                   {Proc("0-1"), Proc("8-15", 3)}),
            (Counts{1, 3}));
}

TEST(Bookings, AProcessBoundToSeveralCoresBooksAFreeOne) {
  EXPECT_EQ(Booked("core:3 pu:1", TopologyLevel::kCore,
                   {Proc("0-2"), Proc("0-2"), Proc("0")}),
            (Counts{1, 1, 1}));
}

TEST(Bookings, HardwareThreadsOfABookedCoreAreBooked) {
  EXPECT_EQ(Booked("core:2 pu:2", TopologyLevel::kHwthread, {Proc("0-1")}),
            (Counts{1, 1, 0, 0}));
  EXPECT_EQ(Booked("core:2 pu:2", TopologyLevel::kCore, {Proc("1")}),
            (Counts{1, 0}));
}

}  // namespace
}  // namespace canopy::host
