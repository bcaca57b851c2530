#include "server/rpc/status.h"

#include <gtest/gtest.h>

namespace canopy::rpc {
namespace {

TEST(StatusTest, CodesSurviveTheConversionToAbseilAndBack) {
  for (const int code :
       {kErrUnreach, kErrNotSupported, kErrBadParam, kErrNotFound, kErrExists,
        kErrNoPermissions, kErrInvalidCred, kErrOutOfResource, kErrTimeout,
        kErrServerFailedRequest}) {
    const Status back = FromAbsl(ToAbsl(Status(code, "text")));
    EXPECT_EQ(back.code(), code);
    EXPECT_EQ(back.message(), "text");
  }
  EXPECT_TRUE(FromAbsl(ToAbsl(Status())).ok());
}

TEST(StatusTest, UnknownCodesAreConvertedToErrors) {
  EXPECT_EQ(ToAbsl(Status(-12345, "x")).code(), absl::StatusCode::kUnknown);
  EXPECT_EQ(FromAbsl(absl::DataLossError("x")).code(), kErrServerFailedRequest);
}

TEST(StatusTest, ToGrpcKeepsCodeAndMessage) {
  const grpc::Status status = ToGrpc(absl::NotFoundError("no job"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(), "no job");
  EXPECT_TRUE(ToGrpc(absl::OkStatus()).ok());
}

}  // namespace
}  // namespace canopy::rpc
