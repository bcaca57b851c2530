#include "server/spawn/job_events.h"

#include <ctime>
#include <utility>

#include "common/codec/infos.h"
#include "common/status.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_common.h"

namespace canopy::spawn {
namespace {

Bytes Encoded(InfoList infos, bool asked) {
  if (!asked) infos.Add(PMIX_EVENT_NON_DEFAULT, Value::Bool(true));
  infos.Add(PMIX_EVENT_TIMESTAMP, Value::Time(std::time(nullptr)));
  std::string out;
  return EncodeInfos(infos.data(), infos.size(), &out) == kSuccess
             ? Bytes(std::move(out))
             : Bytes();
}

// Returns infos that name the job. They also name the whole job as the affected
// process, so that handlers for the events of one job match.
InfoList AboutJob(const std::string& nspace) {
  InfoList infos;
  infos.Add(PMIX_NSPACE, Value::String(nspace));
  infos.Add(PMIX_EVENT_AFFECTED_PROC, Value::Proc({nspace, kRankWildcard}));
  return infos;
}

}  // namespace

Bytes JobEventInfo(const std::string& nspace, bool asked) {
  return Encoded(AboutJob(nspace), asked);
}

Bytes TimeWarningInfo(const std::string& nspace, uint32_t seconds_left) {
  InfoList infos = AboutJob(nspace);
  infos.Add(PMIX_TIME_REMAINING, Value::Uint32(seconds_left));
  return Encoded(std::move(infos), false);
}

Bytes ProcEndInfo(const ProcId& proc, int exit_code, bool asked) {
  InfoList infos;
  infos.Add(PMIX_EVENT_AFFECTED_PROC, Value::Proc(proc));
  infos.Add(PMIX_NSPACE, Value::String(proc.nspace));
  infos.Add(PMIX_EXIT_CODE, Value::Int(exit_code));
  return Encoded(std::move(infos), asked);
}

Bytes JobEndInfo(const std::string& nspace, const JobOutcome& outcome,
                 bool asked) {
  InfoList infos = AboutJob(nspace);
  infos.Add(PMIX_JOB_TERM_STATUS, Value::Status(outcome.status));
  if (outcome.status != kSuccess) {
    infos.Add(PMIX_EXIT_CODE, Value::Int(outcome.exit_code));
  }
  if (outcome.first_failed != kRankInvalid) {
    infos.Add(PMIX_PROCID, Value::Proc({nspace, outcome.first_failed}));
  }
  return Encoded(std::move(infos), asked);
}

}  // namespace canopy::spawn
