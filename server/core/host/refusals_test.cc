#include "server/core/host/refusals.h"

#include <gtest/gtest.h>

#include "common/status.h"

namespace canopy::core {
namespace {

HostRequest Request(uint64_t number, const std::string& nspace = "job") {
  HostRequest request;
  request.proc = {"tool", 0};
  request.request = number;
  request.nspace = nspace;
  return request;
}

TEST(RefusalsTest, ARepetitionOfARefusedRequestIsRefused) {
  Refusals refusals;
  EXPECT_EQ(refusals.StatusOf(1, Request(7)), kSuccess);
  refusals.Add(1, Request(7), kErrNotFound);
  EXPECT_EQ(refusals.StatusOf(2, Request(7)), kErrNotFound);
  EXPECT_EQ(refusals.StatusOf(2, Request(8)), kSuccess);
  EXPECT_EQ(refusals.StatusOf(2, Request(7, "other")), kSuccess);
  HostRequest of_another = Request(7);
  of_another.proc.rank = 1;
  EXPECT_EQ(refusals.StatusOf(2, of_another), kSuccess);
}

TEST(RefusalsTest, ARefusalExpires) {
  Refusals refusals;
  refusals.Add(1, Request(7), kErrNotFound);
  EXPECT_EQ(refusals.StatusOf(kRefusalKept, Request(7)), kErrNotFound);
  EXPECT_EQ(refusals.StatusOf(kRefusalKept + 1, Request(7)), kSuccess);
  refusals.Add(kRefusalKept + 1, Request(7), kErrNotSupported);
  EXPECT_EQ(refusals.StatusOf(kRefusalKept + 2, Request(7)), kErrNotSupported);
}

TEST(RefusalsTest, TheOldestRefusalsAreErasedFirst) {
  Refusals refusals;
  for (uint64_t i = 0; i <= kRefusalsKept; ++i) {
    refusals.Add(1, Request(i), kErrNotFound);
    refusals.Add(1, Request(i), kErrNotFound);
  }
  EXPECT_EQ(refusals.StatusOf(1, Request(0)), kSuccess);
  EXPECT_EQ(refusals.StatusOf(1, Request(1)), kErrNotFound);
  EXPECT_EQ(refusals.StatusOf(1, Request(kRefusalsKept)), kErrNotFound);
}

}  // namespace
}  // namespace canopy::core
