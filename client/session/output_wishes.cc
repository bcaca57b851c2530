#include "client/session/output_wishes.h"

#include <algorithm>

#include "pmix_common.h"

namespace canopy::client {
namespace {

// Directives for the cache and for dropping output are left to the agent.
constexpr std::string_view kKeys[] = {
    PMIX_IOF_BUFFERING_SIZE,      PMIX_IOF_BUFFERING_TIME,
    PMIX_IOF_OUTPUT_RAW,          PMIX_IOF_TAG_OUTPUT,
    PMIX_IOF_TIMESTAMP_OUTPUT,    PMIX_IOF_XML_OUTPUT,
    PMIX_IOF_RANK_OUTPUT,         PMIX_IOF_OUTPUT_TO_FILE,
    PMIX_IOF_OUTPUT_TO_DIRECTORY, PMIX_IOF_FILE_PATTERN,
    PMIX_IOF_FILE_ONLY,
};

}  // namespace

bool IsForPullsAlone(std::string_view key) {
  return key == PMIX_IOF_BUFFERING_SIZE || key == PMIX_IOF_BUFFERING_TIME;
}

InfoList OutputWishes::In(const InfoArray& infos) {
  InfoList out;
  for (size_t i = 0; i < infos.size; ++i) {
    const pmix_info_t& info = infos.infos[i];
    if (std::ranges::count(kKeys, KeyOf(info)) > 0) out.Append(info);
  }
  return out;
}

void OutputWishes::Note(const std::string& nspace, InfoList wishes) {
  if (wishes.empty()) return;
  const MutexLock lock(mu_);
  jobs_.emplace_back(nspace, std::move(wishes));
  if (jobs_.size() > kMaxWishes) jobs_.pop_front();
}

InfoList OutputWishes::Of(std::string_view nspace) const {
  const MutexLock lock(mu_);
  InfoList out;
  for (const auto& [name, wishes] : jobs_) {
    if (name == nspace) out.Append(wishes);
  }
  return out;
}

}  // namespace canopy::client
