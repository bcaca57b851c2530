#include "client/session/group_invite_op.h"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/events/event.h"
#include "client/session/group_arguments.h"
#include "client/session/group_await.h"
#include "client/session/group_bootstrap_members.h"
#include "client/session/group_invitation_events.h"
#include "client/session/group_invitations.h"
#include "client/session/group_joiner.h"
#include "client/session/group_leader.h"
#include "client/session/target.h"
#include "common/ids.h"
#include "common/local/collectives.h"
#include "common/support/ignored_directives.h"
#include "common/values/info_list.h"

namespace canopy::client {
namespace {

bool IsOfInvitations(pmix_status_t status) {
  return status <= PMIX_GROUP_INVITED && status >= PMIX_GROUP_MEMBER_FAILED;
}

void OnArrival(Session& session, const std::string& name, const Event& event) {
  switch (event.status) {
    case PMIX_GROUP_INVITED:
      (void)session.invitations().TakeEnd(event.source, name);
      if (event.infos.Has(PMIX_GROUP_BOOTSTRAP)) {
        return OnBootstrapInvited(session, name, event);
      }
      session.invitations().NoteInviter(name, event.source);
      return;
    case PMIX_GROUP_INVITE_ACCEPTED:
      return OnAccepted(session, name, event);
    case PMIX_GROUP_MEMBERSHIP_UPDATE:
      return event.infos.Has(kFormedStatus) ? OnFormedBy(session, name, event)
                                            : OnMembers(session, name, event);
    case PMIX_GROUP_CONSTRUCT_COMPLETE:
      return OnComplete(session, name, event);
    case PMIX_GROUP_CONSTRUCT_ABORT:
      OnBootstrapAborted(session, name, event);
      return OnAbort(session, name, event);
    case PMIX_GROUP_LEADER_SELECTED:
      return OnSelected(session, name, event);
    default:
      return;
  }
}

// Handles an event of an invitation. `results` are the results of the handlers,
// or null before the handlers have run.
void See(Session& session, const Event& event, const InfoList* results) {
  const auto name = event.infos.FindString(PMIX_GROUP_ID);
  if (!name) return;
  if (results == nullptr) return OnArrival(session, *name, event);
  if (event.status == PMIX_GROUP_INVITE_DECLINED ||
      event.status == PMIX_GROUP_INVITE_FAILED) {
    OnMissing(session, *name, event, *results);
  } else if (event.status == PMIX_GROUP_LEADER_FAILED) {
    OnLeaderFailed(session, *name, event, *results);
  }
}

// Reads the directives; refuses or reports directives that are not in `known`.
// PMIX_GROUP_ID was compared with the name of the group before.
int ReadDirectives(std::string_view function, const InfoArray& directives,
                   std::initializer_list<std::string_view> known,
                   uint32_t* timeout_ms) {
  for (const pmix_info_t& info : std::span(directives.infos, directives.size)) {
    if (KeyOf(info) == PMIX_TIMEOUT) {
      const int rc = TimeoutOf(info, timeout_ms);
      if (rc != PMIX_SUCCESS) return rc;
    } else if (KeyOf(info) != PMIX_GROUP_ID &&
               std::ranges::find(known, KeyOf(info)) == known.end()) {
      const int rc = support::NotHonoured(function, info);
      if (rc != PMIX_SUCCESS) return rc;
    }
  }
  return PMIX_SUCCESS;
}

// Lists the invited processes. A leader that is not among them is not a member.
int ReadInvited(Session& session, const GroupRequest& request,
                SentInvitation* sent) {
  if (request.procs == nullptr || request.nprocs == 0) {
    return PMIX_ERR_BAD_PARAM;
  }
  const int rc =
      ListProcesses(session, {request.procs, request.nprocs}, &sent->awaited);
  sent->outside = sent->awaited.erase(session.self()) == 0;
  return rc;
}

int Invite(Session& session, const GroupRequest& request, GroupDone done) {
  SentInvitation sent;
  uint32_t timeout_ms = 0;
  int rc = CheckGroupName(session, request.name, request.directives);
  if (rc == PMIX_SUCCESS) {
    rc = ReadDirectives(
        "PMIx_Group_invite", request.directives,
        {PMIX_GROUP_OPTIONAL, PMIX_GROUP_FT_COLLECTIVE,
         PMIX_GROUP_ASSIGN_CONTEXT_ID, PMIX_GROUP_NOTIFY_TERMINATION,
         PMIX_GROUP_ENDPT_DATA, PMIX_GROUP_INFO, PMIX_GROUP_LEADER},
        &timeout_ms);
  }
  if (rc == PMIX_SUCCESS) rc = ReadInvited(session, request, &sent);
  if (rc != PMIX_SUCCESS) return rc;
  if (session.job_channel() == nullptr) return PMIX_ERR_UNREACH;
  const std::string name = request.name;
  if (session.groups().Has(name)) return PMIX_ERR_EXISTS;
  sent.directives =
      InfoList::FromC(request.directives.infos, request.directives.size);
  sent.tolerant = IsTolerant(sent.directives);
  sent.done = std::move(done);
  const std::vector<ProcId> invited = ListOf(sent.awaited);
  uint64_t number = 0;
  if (!session.invitations().Add(name, std::move(sent), &number)) {
    return PMIX_ERR_EXISTS;
  }
  WatchInvitations(session);
  Tell(session, PMIX_GROUP_INVITED, invited, About(name));
  After(session, local::GroupStep::kInvite, name, timeout_ms,
        [&session, name, number] {
          auto late = session.invitations().TakeSentIf(
              name, [number](const SentInvitation& one) {
                return one.number == number && one.formers.empty();
              });
          if (late) GiveUp(session, name, *std::move(late), PMIX_ERR_TIMEOUT);
        });
  if (invited.empty()) {
    session.progress().Post(
        [&session, name] { FormIfComplete(session, name); });
  }
  return PMIX_SUCCESS;
}

int Decline(Session& session, const std::string& name, const ProcId& leader,
            const GroupDone& done) {
  Tell(session, PMIX_GROUP_INVITE_DECLINED, {leader}, About(name));
  session.progress().Post([done] { done(PMIX_SUCCESS, {}); });
  return PMIX_SUCCESS;
}

// Returns the leader. If the request names none, the leader is the process that
// has sent the invitation.
std::optional<ProcId> LeaderOf(Session& session, const JoinRequest& request) {
  if (request.leader == nullptr) {
    return session.invitations().InviterOf(request.name);
  }
  if (NspaceOf(*request.leader).empty() ||
      !IsProcessRank(request.leader->rank)) {
    return std::nullopt;
  }
  return FromC(*request.leader);
}

int Join(Session& session, const JoinRequest& request, GroupDone done) {
  uint32_t timeout_ms = 0;
  int rc = CheckGroupName(session, request.name, request.directives);
  if (rc == PMIX_SUCCESS) {
    rc = ReadDirectives("PMIx_Group_join", request.directives,
                        {PMIX_GROUP_ENDPT_DATA, PMIX_GROUP_INFO}, &timeout_ms);
  }
  if (rc != PMIX_SUCCESS) return rc;
  const std::string name = request.name;
  const std::optional<ProcId> found = LeaderOf(session, request);
  if (!found || *found == session.self()) return PMIX_ERR_BAD_PARAM;
  const ProcId& leader = *found;
  if (request.answer != PMIX_GROUP_ACCEPT &&
      request.answer != PMIX_GROUP_DECLINE) {
    return PMIX_ERR_BAD_PARAM;
  }
  if (session.job_channel() == nullptr) return PMIX_ERR_UNREACH;
  if (request.answer == PMIX_GROUP_DECLINE) {
    return Decline(session, name, leader, done);
  }
  if (session.groups().Has(name)) return PMIX_ERR_EXISTS;
  AcceptedInvitation accepted;
  accepted.leader = leader;
  accepted.directives =
      InfoList::FromC(request.directives.infos, request.directives.size);
  accepted.done = std::move(done);
  uint64_t number = 0;
  if (!session.invitations().Add(name, std::move(accepted), &number)) {
    return PMIX_ERR_EXISTS;
  }
  WatchInvitations(session);
  Accept(session, name, leader);
  After(session, local::GroupStep::kJoin, name, timeout_ms,
        [&session, name, number] {
          const auto late = session.invitations().TakeAcceptedIf(
              name, [number](const AcceptedInvitation& one) {
                return one.number == number;
              });
          if (!late) return;
          // The invitation has ended for this process, so the leader must not
          // wait for it.
          Tell(session, PMIX_GROUP_INVITE_DECLINED, {late->leader},
               About(name));
          late->done(PMIX_ERR_TIMEOUT, {});
        });
  session.progress().Post(
      [&session, name, leader] { TakeUpEnd(session, name, leader); });
  return PMIX_SUCCESS;
}

}  // namespace

void ObserveInvitations(Session& session) {
  session.events().Observe(
      IsOfInvitations, [&session](const Event& event, const InfoList* results) {
        See(session, event, results);
      });
}

int InviteGroupAsync(Session& session, const GroupRequest& request,
                     pmix_info_cbfunc_t cbfunc, void* cbdata) {
  return Invite(session, request, CallBack(cbfunc, cbdata));
}

int InviteGroup(Session& session, const GroupRequest& request,
                pmix_info_t** results, size_t* nresults) {
  return AwaitGroup(
      session,
      [&](GroupDone done) { return Invite(session, request, std::move(done)); },
      results, nresults);
}

int JoinGroupAsync(Session& session, const JoinRequest& request,
                   pmix_info_cbfunc_t cbfunc, void* cbdata) {
  return Join(session, request, CallBack(cbfunc, cbdata));
}

int JoinGroup(Session& session, const JoinRequest& request,
              pmix_info_t** results, size_t* nresults) {
  return AwaitGroup(
      session,
      [&](GroupDone done) { return Join(session, request, std::move(done)); },
      results, nresults);
}

}  // namespace canopy::client
