#include "server/scheduler/contract/call_end.h"

#include <gtest/gtest.h>

#include <string>

#include "protos/canopy/hostmodule/v1/error_details.pb.h"

namespace canopy::scheduler {
namespace {

namespace v1 = hostmodule::v1;

template <typename Detail>
std::string DetailsOf(const std::string& type, const Detail& detail) {
  v1::Status status;
  google::protobuf::Any* const any = status.add_details();
  any->set_type_url("type.googleapis.com/google.rpc." + type);
  any->set_value(detail.SerializeAsString());
  return status.SerializeAsString();
}

std::string Reason(const std::string& name,
                   const std::string& domain = "pmix.org") {
  v1::ErrorInfo info;
  info.set_reason(name);
  info.set_domain(domain);
  return DetailsOf("ErrorInfo", info);
}

TEST(CallEndTest, TheDetailsContainThePmixStatus) {
  const CallEnd end = EndOf(8, "full", Reason("PMIX_ERR_OUT_OF_RESOURCE"));
  EXPECT_EQ(StatusOf(end).code(), kErrOutOfResource);
  EXPECT_FALSE(end.leaves_undecided()) << "it is decided";
  EXPECT_FALSE(end.passes());
}

TEST(CallEndTest, DetailsWithoutAPmixErrorAreIgnored) {
  for (const std::string& details :
       {Reason("PMIX_ERR_NO_SUCH_THING"), Reason("PMIX_SUCCESS"),
        Reason("PMIX_MAX_NSLEN"), Reason("PMIX_ERR_TIMEOUT", "elsewhere.org"),
        std::string("malformed")}) {
    EXPECT_EQ(StatusOf(EndOf(5, "", details)).code(), kErrNotFound);
  }
}

TEST(CallEndTest, WithoutDetailsTheCodeDeterminesTheStatus) {
  EXPECT_EQ(StatusOf({3, ""}).code(), kErrBadParam);
  EXPECT_EQ(StatusOf({6, ""}).code(), kErrExists);
  EXPECT_EQ(StatusOf({7, ""}).code(), kErrNoPermissions);
  EXPECT_EQ(StatusOf({8, ""}).code(), kErrOutOfResource);
  EXPECT_EQ(StatusOf({9, ""}).code(), kErrInvalidOperation);
  EXPECT_EQ(StatusOf({12, ""}).code(), kErrNotSupported);
  EXPECT_EQ(StatusOf({13, "a\nb"}).code(), kErrServerFailedRequest);
  EXPECT_EQ(StatusOf({13, "a\nb"}).message().find('\n'), std::string::npos);
}

TEST(CallEndTest, SomeGrpcCodesLeaveAPlacementUndecided) {
  for (const int code : {1, 2, 4, 8, 10, 13, 14, 15}) {
    EXPECT_TRUE((CallEnd{code, ""}.leaves_undecided())) << code;
  }
  for (const int code : {0, 3, 5, 6, 7, 9, 11, 12, 16}) {
    EXPECT_FALSE((CallEnd{code, ""}.leaves_undecided())) << code;
  }
}

TEST(CallEndTest, OnlyThreeGrpcCodesLetACallOfAProcessBeRepeated) {
  for (const int code : {1, 10, 14}) {
    EXPECT_TRUE((CallEnd{code, ""}.passes())) << code;
  }
  for (const int code : {2, 4, 8, 13}) {
    EXPECT_FALSE((CallEnd{code, ""}.passes())) << code;
  }
}

TEST(CallEndTest, ThePauseBeforeARepetitionIsLimited) {
  v1::RetryInfo info;
  info.mutable_retry_delay()->set_seconds(2);
  info.mutable_retry_delay()->set_nanos(5);
  const CallEnd end = EndOf(8, "", DetailsOf("RetryInfo", info));
  EXPECT_EQ(end.retry_ns, 2'000'000'005);
  EXPECT_TRUE(end.passes());
  info.mutable_retry_delay()->set_seconds(int64_t{1} << 60);
  EXPECT_EQ(EndOf(8, "", DetailsOf("RetryInfo", info)).retry_ns,
            int64_t{600} * 1'000'000'000);
  info.mutable_retry_delay()->set_seconds(-5);
  info.mutable_retry_delay()->set_nanos(-5);
  EXPECT_EQ(EndOf(8, "", DetailsOf("RetryInfo", info)).retry_ns, 0);
}

}  // namespace
}  // namespace canopy::scheduler
