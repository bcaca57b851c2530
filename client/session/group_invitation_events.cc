#include "client/session/group_invitation_events.h"

#include <utility>

#include "client/session/event_op.h"
#include "client/session/target.h"
#include "common/local_protocol.h"
#include "common/values/value.h"
#include "common/wire.h"

namespace canopy::client {

std::vector<ProcId> ListOf(const std::set<ProcId>& procs) {
  return {procs.begin(), procs.end()};
}

InfoList About(const std::string& name) {
  InfoList infos;
  infos.Add(PMIX_GROUP_ID, Value::String(name));
  infos.Add(PMIX_EVENT_NON_DEFAULT, Value::Bool(true));
  return infos;
}

InfoList MembersOf(const std::string& name,
                   const std::vector<ProcId>& members) {
  InfoList infos = About(name);
  infos.Add(PMIX_GROUP_MEMBERSHIP, Value::ProcArray(members));
  return infos;
}

std::vector<ProcId> MembersIn(const Event& event) {
  const pmix_info_t* info = event.infos.Find(PMIX_GROUP_MEMBERSHIP);
  return info == nullptr ? std::vector<ProcId>() : ProcsOfInfo(*info);
}

void Tell(Session& session, pmix_status_t status,
          const std::vector<ProcId>& receivers, InfoList infos) {
  if (receivers.empty()) return;
  infos.Add(PMIX_EVENT_CUSTOM_RANGE, Value::ProcArray(receivers));
  const Notification event{status,       nullptr,      PMIX_RANGE_CUSTOM,
                           infos.data(), infos.size(), /*within_job=*/true};
  (void)NotifyEvent(
      session, event, [](pmix_status_t, void*) {}, nullptr);
}

void After(Session& session, GroupCall call, const std::string& name,
           uint32_t timeout_ms, std::function<void()> what) {
  if (timeout_ms == 0) return;
  WireWriter out;
  out.Uint(static_cast<uint64_t>(call));
  out.String(name);
  PutProcs({}, &out);
  out.Bool(false);
  out.Uint(timeout_ms);
  out.String("");
  (void)session.job_channel()->CallAsync(
      local::FrameType::kGroupCall, out.Take(),
      [what = std::move(what)](const Reply& reply) {
        if (reply.status == PMIX_ERR_TIMEOUT) what();
      });
}

}  // namespace canopy::client
