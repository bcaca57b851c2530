// Converts times and durations to messages of the scheduler's service.
#ifndef CANOPY_SERVER_SCHEDULER_CONTRACT_TIMES_H_
#define CANOPY_SERVER_SCHEDULER_CONTRACT_TIMES_H_

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include <cstdint>

namespace canopy::scheduler {

// Pure functions. Times are milliseconds since 1970.
google::protobuf::Timestamp TimestampOf(int64_t ms);
google::protobuf::Duration DurationOfMs(int64_t ms);
google::protobuf::Duration DurationOfSeconds(int64_t seconds);

int64_t MsOf(const google::protobuf::Timestamp& time);
// Rounds up, so that a positive duration does not become 0, and limits the
// result to its type.
uint32_t SecondsOf(const google::protobuf::Duration& span);

}  // namespace canopy::scheduler

#endif  // CANOPY_SERVER_SCHEDULER_CONTRACT_TIMES_H_
