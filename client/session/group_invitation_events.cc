#include "client/session/group_invitation_events.h"

#include <string_view>
#include <utility>

#include "client/events/handler.h"
#include "client/session/event_op.h"
#include "client/session/target.h"
#include "common/describe.h"
#include "common/local_protocol.h"
#include "common/values/value.h"

namespace canopy::client {
namespace {

void Subscribe(Session& session, const HandlerSpec& spec) {
  const SubscriptionChange change = session.subscriptions().Add(spec);
  for (const ChannelRef& server : session.servers().open()) {
    server->ExpectEvents(true);
    if (change.empty()) continue;
    (void)server->CallAsync(local::FrameType::kEventsWanted, change.Encode(),
                            [](const Reply&) {});
  }
}

}  // namespace

void WatchInvitations(Session& session) {
  if (!session.invitations().BeginWatching()) return;
  HandlerSpec spec;
  spec.codes = {PMIX_GROUP_INVITE_ACCEPTED, PMIX_GROUP_INVITE_DECLINED,
                PMIX_GROUP_INVITE_FAILED,   PMIX_GROUP_MEMBERSHIP_UPDATE,
                PMIX_GROUP_CONSTRUCT_ABORT, PMIX_GROUP_CONSTRUCT_COMPLETE,
                PMIX_GROUP_LEADER_SELECTED, PMIX_GROUP_LEADER_FAILED};
  Subscribe(session, spec);
}

void WatchBootstraps(Session& session) {
  if (!session.invitations().BeginWatchingBootstraps()) return;
  HandlerSpec spec;
  spec.codes = {PMIX_GROUP_INVITED};
  Subscribe(session, spec);
}

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

bool IsOfGroup(const pmix_info_t& info) {
  const std::string_view key = KeyOf(info);
  return key == PMIX_GROUP_ASSIGN_CONTEXT_ID || key == PMIX_GROUP_OPTIONAL ||
         key == PMIX_GROUP_FT_COLLECTIVE ||
         key == PMIX_GROUP_NOTIFY_TERMINATION || key == PMIX_TIMEOUT;
}

InfoList ResultsIn(const InfoList& infos) {
  InfoList results;
  for (const pmix_info_t& info : infos) {
    const std::string_view key = KeyOf(info);
    if (key == PMIX_GROUP_MEMBERSHIP || key == PMIX_GROUP_CONTEXT_ID ||
        key == PMIX_GROUP_ID) {
      results.Append(info);
    }
  }
  return results;
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

void After(Session& session, local::GroupStep step, const std::string& name,
           uint32_t timeout_ms, std::function<void()> what) {
  if (timeout_ms == 0) return;
  local::GroupCall frame;
  frame.step = step;
  frame.group = name;
  frame.timeout_ms = timeout_ms;
  (void)session.job_channel()->CallAsync(
      local::FrameType::kGroupCall, wire::Encode(frame),
      [what = std::move(what)](const Reply& reply) {
        if (reply.status == PMIX_ERR_TIMEOUT) what();
      });
}

}  // namespace canopy::client
