#include "client/session/group_joiner.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "client/session/event_op.h"
#include "client/session/group_invitation_events.h"
#include "client/session/group_invitations.h"
#include "client/session/group_leader.h"
#include "client/session/group_op.h"
#include "client/session/target.h"
#include "common/local/collectives.h"
#include "common/values/value.h"

namespace canopy::client {
namespace {

// The time for which processes that have lost their leader wait for a new
// leader.
constexpr uint32_t kSelectionMs = 5000;

std::optional<AcceptedInvitation> TakeOf(Session& session,
                                         const std::string& name,
                                         const ProcId& leader) {
  return session.invitations().TakeAcceptedIf(
      name,
      [&](const AcceptedInvitation& one) { return one.leader == leader; });
}

// Called when no process has taken the leader's place. Notifies this process's
// handlers that the construct is aborted, and ends its call.
void AbortLeaderless(Session& session, const std::string& name,
                     uint64_t number) {
  const auto left = session.invitations().TakeAcceptedIf(
      name, [number](const AcceptedInvitation& one) {
        return one.number == number && one.leaderless;
      });
  if (!left) return;
  const InfoList infos = About(name);
  const Notification event{PMIX_GROUP_CONSTRUCT_ABORT, nullptr,
                           PMIX_RANGE_PROC_LOCAL, infos.data(), infos.size()};
  (void)NotifyEvent(
      session, event, [](pmix_status_t, void*) {}, nullptr);
  left->done(PMIX_GROUP_CONSTRUCT_ABORT, {});
}

// Makes this process the leader. The processes that have accepted the
// invitation accept it again.
void Lead(Session& session, const std::string& name, AcceptedInvitation before,
          std::vector<ProcId> invited) {
  std::erase(invited, session.self());
  SentInvitation sent;
  sent.directives = std::move(before.directives);
  sent.awaited.insert(invited.begin(), invited.end());
  // Processes that were gone when the leader failed do not answer.
  sent.tolerant = true;
  sent.replaces = before.leader;
  sent.done = std::move(before.done);
  uint64_t number = 0;
  if (!session.invitations().Add(name, std::move(sent), &number)) return;
  InfoList infos = About(name);
  infos.Add(PMIX_EVENT_AFFECTED_PROC, Value::Proc(before.leader));
  Tell(session, PMIX_GROUP_LEADER_SELECTED, invited, std::move(infos));
  FormIfComplete(session, name);
}

// Follows the process that has taken the place of `failed`. If there are
// several, the lowest in the order of processes becomes the leader.
bool Follow(Session& session, const std::string& name, const ProcId& failed,
            const ProcId& next) {
  bool follows = false;
  (void)session.invitations().TakeAcceptedIf(
      name, [&](AcceptedInvitation& one) {
        follows = one.leader == failed ||
                  (one.replaced == failed && next < one.leader);
        if (!follows) return false;
        one.replaced = failed;
        one.leader = next;
        one.leaderless = false;
        return false;
      });
  if (follows) Accept(session, name, next);
  return follows;
}

// Handles the loss of the leader, which another process may replace. Returns
// false if this process has not accepted the leader's invitation.
bool LoseLeader(Session& session, const std::string& name, const ProcId& leader,
                const InvitationEnd& end) {
  if (end.next && Follow(session, name, leader, *end.next)) return true;
  uint64_t number = 0;
  auto mine =
      session.invitations().TakeAcceptedIf(name, [&](AcceptedInvitation& one) {
        if (one.leader != leader) return false;
        one.leaderless = true;
        number = one.number;
        return end.leads;
      });
  if (mine) {
    Lead(session, name, *std::move(mine), end.invited);
  } else if (number != 0) {
    After(session, local::GroupStep::kJoin, name, kSelectionMs,
          [&session, name, number] { AbortLeaderless(session, name, number); });
  }
  return number != 0;
}

// Takes over the directives of a leader that is not a member. The caller's own
// directives have precedence.
void TakeDirectives(const Event& event, InfoList* directives) {
  for (const pmix_info_t& info : event.infos) {
    if (IsOfGroup(info) && !directives->Has(KeyOf(info))) {
      directives->Append(info);
    }
  }
}

// Reports the end of the construct to the leader, which takes no part in it but
// has named the members.
GroupDone AndReport(Session& session, const std::string& name,
                    const Event& event, GroupDone done) {
  const ProcId leader = event.source;
  const size_t announced = MembersIn(event).size();
  return [&session, name, leader, announced, done = std::move(done)](
             int status, InfoList results) {
    InfoList infos = About(name);
    infos.Add(kFormedStatus, Value::Int(status));
    for (const pmix_info_t& info : results) {
      const std::string_view key = KeyOf(info);
      if (key == PMIX_GROUP_CONTEXT_ID ||
          (key == PMIX_GROUP_MEMBERSHIP &&
           ProcsOfInfo(info).size() != announced)) {
        infos.Append(info);
      }
    }
    Tell(session, PMIX_GROUP_MEMBERSHIP_UPDATE, {leader}, std::move(infos));
    done(status, std::move(results));
  };
}

}  // namespace

void Accept(Session& session, const std::string& name, const ProcId& leader) {
  InfoList infos = About(name);
  infos.Add(kOwnLibrary, Value::Bool(true));
  Tell(session, PMIX_GROUP_INVITE_ACCEPTED, {leader}, std::move(infos));
}

void OnMembers(Session& session, const std::string& name, const Event& event) {
  auto accepted = TakeOf(session, name, event.source);
  if (!accepted) return;
  GroupDone done = accepted->done;
  if (event.infos.Has(kReports)) {
    TakeDirectives(event, &accepted->directives);
    done = AndReport(session, name, event, std::move(done));
  }
  const int rc = ConstructGroupThen(session, name, MembersIn(event),
                                    accepted->directives, done);
  if (rc != PMIX_SUCCESS) done(rc, {});
}

void OnComplete(Session& session, const std::string& name, const Event& event) {
  const auto accepted = TakeOf(session, name, event.source);
  if (!accepted) return;
  accepted->done(PMIX_SUCCESS, ResultsIn(event.infos));
}

void OnAbort(Session& session, const std::string& name, const Event& event) {
  const auto accepted = TakeOf(session, name, event.source);
  if (accepted) {
    accepted->done(PMIX_GROUP_CONSTRUCT_ABORT, {});
  } else {
    session.invitations().NoteEnd(
        event.source, name, [](InvitationEnd& end) { end.aborted = true; });
  }
}

void OnLeaderFailed(Session& session, const std::string& name,
                    const Event& event, const InfoList& results) {
  InvitationEnd known;
  session.invitations().NoteEnd(event.source, name, [&](InvitationEnd& end) {
    end.failed = true;
    end.leads = results.FindBool(PMIX_GROUP_LEADER).value_or(false);
    end.invited = MembersIn(event);
    known = end;
  });
  (void)LoseLeader(session, name, event.source, known);
}

void TakeUpEnd(Session& session, const std::string& name,
               const ProcId& leader) {
  const auto end = session.invitations().TakeEnd(leader, name);
  if (!end) return;
  if (end->failed || end->next) {
    (void)LoseLeader(session, name, leader, *end);
  } else if (const auto accepted = TakeOf(session, name, leader)) {
    accepted->done(PMIX_GROUP_CONSTRUCT_ABORT, {});
  }
}

void OnSelected(Session& session, const std::string& name, const Event& event) {
  const auto failed = event.infos.FindProc(PMIX_EVENT_AFFECTED_PROC);
  if (!failed) return;
  session.invitations().NoteEnd(*failed, name, [&](InvitationEnd& end) {
    if (!end.next || event.source < *end.next) end.next = event.source;
  });
  auto mine =
      session.invitations().TakeSentIf(name, [&](const SentInvitation& one) {
        return one.replaces == *failed && event.source < session.self();
      });
  if (!mine) {
    (void)Follow(session, name, *failed, event.source);
    return;
  }
  AcceptedInvitation accepted;
  accepted.leader = event.source;
  accepted.replaced = *failed;
  accepted.directives = std::move(mine->directives);
  accepted.done = std::move(mine->done);
  uint64_t number = 0;
  if (session.invitations().Add(name, std::move(accepted), &number)) {
    Accept(session, name, event.source);
  }
}

}  // namespace canopy::client
