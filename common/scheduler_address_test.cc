#include "common/scheduler_address.h"

#include <gtest/gtest.h>

#include <string>

namespace canopy {
namespace {

TEST(SchedulerAddressTest, UnixSocketsAndPortsAreAddresses) {
  EXPECT_TRUE(CheckSchedulerAddress("unix:/run/scheduler.sock").ok());
  EXPECT_TRUE(CheckSchedulerAddress("127.0.0.1:7000").ok());
  EXPECT_TRUE(CheckSchedulerAddress("[::1]:7000").ok());
  EXPECT_TRUE(CheckSchedulerAddress("head.cluster:65535").ok());
}

TEST(SchedulerAddressTest, TextsThatAreNotAddressesAreRejected) {
  for (const char* address :
       {"", "head", "head:", ":70", "head:0", "head:65536", "head:7x",
        "unix:relative", "unix:"}) {
    EXPECT_EQ(CheckSchedulerAddress(address).code(), kErrBadParam) << address;
  }
  EXPECT_FALSE(CheckSchedulerAddress("unix:/" + std::string(107, 'x')).ok());
}

}  // namespace
}  // namespace canopy
