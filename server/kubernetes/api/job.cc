#include "server/kubernetes/api/job.h"

#include <string_view>
#include <utility>

namespace canopy::kubernetes {
namespace {

uint32_t CountAt(const Json& object, std::string_view key, uint32_t otherwise) {
  const auto number = IntAt(object, key);
  if (!number || *number < 0 || *number > INT32_MAX) return otherwise;
  return static_cast<uint32_t>(*number);
}

bool IsTrue(const std::optional<Condition>& condition) {
  return condition && condition->is_true;
}

}  // namespace

std::optional<Job> ParseJob(const Json& object) {
  Job job;
  if (!ParseMetadata(object, &job)) return std::nullopt;
  const Json& spec = At(object, "spec");
  job.completions = CountAt(spec, "completions", 0);
  job.parallelism = CountAt(spec, "parallelism", 1);
  job.indexed = TextAt(spec, "completionMode") == "Indexed";
  job.suspended = BoolAt(spec, "suspend", false);
  job.complete = IsTrue(ConditionOf(object, "Complete"));
  const auto failed = ConditionOf(object, "Failed");
  job.failed = IsTrue(failed);
  if (job.failed) {
    job.failure_reason = failed->reason;
    job.failure_message = failed->message;
  }
  return job;
}

}  // namespace canopy::kubernetes
