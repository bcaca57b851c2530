#include "client/session/collective_request.h"

#include <algorithm>
#include <string_view>

#include "client/session/directives.h"
#include "client/session/target.h"
#include "common/codec/infos.h"
#include "common/describe.h"
#include "common/support/ignored_directives.h"
#include "common/values/info_list.h"

namespace canopy::client {
namespace {

constexpr std::string_view kHonoured[] = {PMIX_COLLECT_DATA, PMIX_TIMEOUT,
                                          PMIX_COLLECT_GENERATED_JOB_INFO};

// Returns the infos for the agent. Required infos that this library honours are
// marked as processed.
InfoList Marked(std::span<const pmix_info_t> infos) {
  InfoList marked = InfoList::FromC(infos.data(), infos.size());
  for (size_t i = 0; i < infos.size(); ++i) {
    pmix_info_t& info = marked.mutable_data()[i];
    if (IsRequired(info) && std::ranges::count(kHonoured, KeyOf(info)) > 0) {
      info.flags |= PMIX_INFO_REQD_PROCESSED;
    }
  }
  return marked;
}

int ParseOne(std::string_view function, const pmix_info_t& info,
             CollectiveOptions* out) {
  const std::string_view key = KeyOf(info);
  if (key == PMIX_COLLECT_DATA) {
    out->collect = IsTrue(info);
    return PMIX_SUCCESS;
  }
  if (key == PMIX_TIMEOUT) return TimeoutOf(info, &out->timeout_ms);
  // Every agent derives the job's data from the same map, so all agents have
  // all of it already.
  if (key == PMIX_COLLECT_GENERATED_JOB_INFO) return PMIX_SUCCESS;
  return support::NotHonoured(function, info);
}

}  // namespace

int ParseCollectiveOptions(std::string_view function, const pmix_info_t* info,
                           size_t ninfo, CollectiveOptions* out) {
  if (info == nullptr && ninfo > 0) return PMIX_ERR_BAD_PARAM;
  for (size_t i = 0; i < ninfo; ++i) {
    const int rc = ParseOne(function, info[i], out);
    if (rc != PMIX_SUCCESS) return rc;
  }
  return PMIX_SUCCESS;
}

int EncodeCollective(local::CollectiveOp operation,
                     std::span<const pmix_proc_t> participants,
                     std::span<const pmix_info_t> infos,
                     const CollectiveOptions& options, std::string* frame) {
  std::string encoded;
  if (!infos.empty()) {
    const InfoList marked = Marked(infos);
    const int rc = EncodeInfos(marked.data(), marked.size(), &encoded);
    if (rc != PMIX_SUCCESS) return rc;
  }
  *frame =
      wire::Encode(local::Collective{{operation, {}, ViewsOf(participants)},
                                     options.collect,
                                     options.timeout_ms,
                                     encoded});
  return PMIX_SUCCESS;
}

}  // namespace canopy::client
