#include "common/job_description.h"

#include <sys/resource.h>

#include <algorithm>

#include "common/describe.h"
#include "common/text.h"

namespace canopy {
namespace {

constexpr uint64_t kMaxUmask = 0777;

bool AreTexts(const std::vector<Host>& hosts) {
  return std::ranges::all_of(
      hosts, [](const Host& host) { return IsUtf8(host.name); });
}

// Returns true if the values that error messages and displays contain are
// UTF-8.
bool HasTexts(const JobRequest& request) {
  const JobPlaces& places = request.places;
  const SchedulerHints& hints = request.hints;
  const std::string* const texts[] = {
      &request.name,    &places.map_by, &places.rank_by, &places.bind_to,
      &places.cpu_list, &hints.queue,   &hints.account};
  return AreTexts(places.hosts) &&
         std::ranges::all_of(texts, [](auto* text) { return IsUtf8(*text); }) &&
         std::ranges::all_of(hints.others, IsUtf8) &&
         std::ranges::all_of(request.apps, [](const JobApp& app) {
           return AreTexts(app.hosts);
         });
}

Status Check(const ProcessPolicies& process) {
  if (process.umask.value_or(0) > kMaxUmask) {
    return Status(kErrBadParam, "a umask has at most three octal digits");
  }
  const bool known = std::ranges::all_of(
      process.limits,
      [](const ResourceLimit& l) { return l.resource < RLIMIT_NLIMITS; });
  return known ? Status() : Status(kErrBadParam, "a limit of no resource");
}

}  // namespace

std::string EncodeJobRequest(const JobRequest& request) {
  return wire::Encode(request);
}

Result<JobRequest> DecodeJobRequest(std::string_view bytes) {
  JobRequest request;
  const JobDebug& debug = request.debug;
  if (!wire::Decode(bytes, &request) || !InOrder(debug.on_exec) ||
      !InOrder(debug.in_init) || !InOrder(debug.in_app)) {
    return Status(kErrUnpackFailure, "malformed job request");
  }
  if (!HasTexts(request)) {
    return Status(kErrBadParam, "a job request with a text that is not UTF-8");
  }
  if (Status s = Check(request.process); !s.ok()) return s;
  return request;
}

}  // namespace canopy
