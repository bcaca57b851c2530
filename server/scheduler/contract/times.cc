#include "server/scheduler/contract/times.h"

#include <algorithm>
#include <limits>

namespace canopy::scheduler {
namespace {

constexpr int64_t kMsInSecond = 1000;
constexpr int32_t kNanosInMs = 1'000'000;
// The years 1 to 9999, the range of a Timestamp.
constexpr int64_t kFirstSecond = -62'135'596'800;
constexpr int64_t kLastSecond = 253'402'300'799;

}  // namespace

google::protobuf::Timestamp TimestampOf(int64_t ms) {
  google::protobuf::Timestamp out;
  int64_t seconds = ms / kMsInSecond;
  int64_t rest = ms % kMsInSecond;
  if (rest < 0) {
    --seconds;
    rest += kMsInSecond;
  }
  out.set_seconds(seconds);
  out.set_nanos(static_cast<int32_t>(rest) * kNanosInMs);
  return out;
}

google::protobuf::Duration DurationOfMs(int64_t ms) {
  google::protobuf::Duration out;
  out.set_seconds(ms / kMsInSecond);
  out.set_nanos(static_cast<int32_t>(ms % kMsInSecond) * kNanosInMs);
  return out;
}

google::protobuf::Duration DurationOfSeconds(int64_t seconds) {
  google::protobuf::Duration out;
  out.set_seconds(seconds);
  return out;
}

int64_t MsOf(const google::protobuf::Timestamp& time) {
  const int64_t seconds = std::clamp(time.seconds(), kFirstSecond, kLastSecond);
  return seconds * kMsInSecond + time.nanos() / kNanosInMs;
}

uint32_t SecondsOf(const google::protobuf::Duration& span) {
  const int64_t most = std::numeric_limits<uint32_t>::max();
  const int64_t seconds = std::clamp<int64_t>(span.seconds(), 0, most);
  const bool more = span.seconds() >= 0 && span.nanos() > 0 && seconds < most;
  return static_cast<uint32_t>(more ? seconds + 1 : seconds);
}

}  // namespace canopy::scheduler
