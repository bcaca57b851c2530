#include "client/session/group_leader.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "client/session/group_invitation_events.h"
#include "client/session/group_op.h"
#include "common/ids.h"
#include "common/values/value.h"

namespace canopy::client {
namespace {

// Ends an invitation that a process with another library has accepted. Agents
// do not know such a group. It consists of the members that receive the event
// PMIX_GROUP_CONSTRUCT_COMPLETE, for which they wait.
void FormAmongLibraries(Session& session, const std::string& name,
                        SentInvitation sent,
                        const std::vector<ProcId>& members) {
  if (sent.directives.FindBool(PMIX_GROUP_ASSIGN_CONTEXT_ID).value_or(false)) {
    return GiveUp(session, name, std::move(sent), PMIX_ERR_NOT_SUPPORTED);
  }
  Tell(session, PMIX_GROUP_CONSTRUCT_COMPLETE, members,
       MembersOf(name, members));
  InfoList results;
  results.Add(PMIX_GROUP_MEMBERSHIP, Value::ProcArray(members));
  results.Add(PMIX_GROUP_ID, Value::String(name));
  sent.done(PMIX_SUCCESS, std::move(results));
}

void OnFormed(Session& session, const std::string& name,
              const SentInvitation& sent, const std::vector<ProcId>& members,
              int status, InfoList results) {
  const bool formed =
      status == PMIX_SUCCESS || status == PMIX_ERR_PARTIAL_SUCCESS;
  if (formed) {
    InfoList infos = MembersOf(name, members);
    const auto context = results.FindUint(PMIX_GROUP_CONTEXT_ID);
    if (context) infos.Add(PMIX_GROUP_CONTEXT_ID, Value::Size(*context));
    // A leader that is a member may wait for the event, as the others do.
    Tell(session, PMIX_GROUP_CONSTRUCT_COMPLETE, members, std::move(infos));
  } else {
    Tell(session, PMIX_GROUP_CONSTRUCT_ABORT, members, About(name));
  }
  const bool partly = sent.incomplete && status == PMIX_SUCCESS;
  sent.done(partly ? PMIX_ERR_PARTIAL_SUCCESS : status, std::move(results));
}

// Lets the members construct the group without the leader, with the directives
// that the leader has given for the group.
void LetMembersForm(Session& session, const std::string& name,
                    const std::vector<ProcId>& members,
                    const InfoList& directives) {
  InfoList infos = MembersOf(name, members);
  infos.Add(kReports, Value::Bool(true));
  for (const pmix_info_t& info : directives) {
    if (IsOfGroup(info)) infos.Append(info);
  }
  Tell(session, PMIX_GROUP_MEMBERSHIP_UPDATE, members, std::move(infos));
}

// Constructs the group after all answers.
void Form(Session& session, const std::string& name, SentInvitation sent) {
  std::vector<ProcId> members = ListOf(sent.accepted);
  if (!sent.outside) {
    members.insert(std::ranges::lower_bound(members, session.self()),
                   session.self());
  } else if (members.empty()) {
    return GiveUp(session, name, std::move(sent), PMIX_GROUP_CONSTRUCT_ABORT);
  }
  if (sent.has_foreign) {
    return FormAmongLibraries(session, name, std::move(sent), members);
  }
  Tell(session, PMIX_GROUP_MEMBERSHIP_UPDATE, ListOf(sent.accepted),
       MembersOf(name, members));
  const auto shared = std::make_shared<SentInvitation>(std::move(sent));
  const int rc = ConstructGroupThen(
      session, name, members, shared->directives,
      [&session, name, shared, members](int status, InfoList results) {
        OnFormed(session, name, *shared, members, status, std::move(results));
      });
  if (rc != PMIX_SUCCESS) OnFormed(session, name, *shared, members, rc, {});
}

bool SaysAbort(const InfoList& results) {
  for (const pmix_info_t& info : results) {
    if (info.value.type == PMIX_STATUS &&
        info.value.data.status == PMIX_GROUP_CONSTRUCT_ABORT) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool IsTolerant(const InfoList& directives) {
  return directives.FindBool(PMIX_GROUP_OPTIONAL).value_or(false) ||
         directives.FindBool(PMIX_GROUP_FT_COLLECTIVE).value_or(false);
}

void GiveUp(Session& session, const std::string& name, SentInvitation sent,
            int status) {
  std::set<ProcId> all = std::move(sent.accepted);
  all.merge(sent.awaited);
  all.merge(sent.declined);
  // A leader that is a member may wait for the event, as the others do.
  if (!sent.outside) all.insert(session.self());
  Tell(session, PMIX_GROUP_CONSTRUCT_ABORT, ListOf(all), About(name));
  sent.done(status, {});
}

void FormIfComplete(Session& session, const std::string& name) {
  std::vector<ProcId> members;
  InfoList directives;
  auto sent = session.invitations().TakeSentIf(name, [&](SentInvitation& one) {
    if (!one.awaited.empty() || !one.formers.empty()) return false;
    if (!one.outside || one.has_foreign || one.accepted.empty()) return true;
    members = one.formers = ListOf(one.accepted);
    directives = one.directives;
    return false;
  });
  if (sent) return Form(session, name, *std::move(sent));
  if (!members.empty()) LetMembersForm(session, name, members, directives);
}

void OnAccepted(Session& session, const std::string& name, const Event& event) {
  const bool own = event.infos.FindBool(kOwnLibrary).value_or(false);
  (void)session.invitations().TakeSentIf(name, [&](SentInvitation& one) {
    if (one.awaited.erase(event.source) == 0) return false;
    one.accepted.insert(event.source);
    one.has_foreign |= !own;
    return false;
  });
  FormIfComplete(session, name);
}

void OnFormedBy(Session& session, const std::string& name, const Event& event) {
  const auto sent =
      session.invitations().TakeSentIf(name, [&](const SentInvitation& one) {
        return !one.formers.empty() && one.accepted.contains(event.source);
      });
  if (!sent) return;
  // The results contain the members only if some of the invited processes are
  // missing.
  InfoList results = ResultsIn(event.infos);
  if (!results.Has(PMIX_GROUP_MEMBERSHIP)) {
    results.Add(PMIX_GROUP_MEMBERSHIP, Value::ProcArray(sent->formers));
  }
  const std::vector<ProcId> members =
      ProcsOfInfo(*results.Find(PMIX_GROUP_MEMBERSHIP));
  const auto status = event.infos.FindInt(kFormedStatus);
  OnFormed(session, name, *sent, members,
           static_cast<int>(status.value_or(PMIX_ERR_BAD_PARAM)),
           std::move(results));
}

void OnMissing(Session& session, const std::string& name, const Event& event,
               const InfoList& results) {
  std::vector<ProcId> others;
  if (const pmix_info_t* info = results.Find(PMIX_GROUP_ADD_MEMBERS)) {
    others = ProcsOfInfo(*info);
  }
  bool invites = false;
  auto lost = session.invitations().TakeSentIf(name, [&](SentInvitation& one) {
    if (one.awaited.erase(event.source) + one.accepted.erase(event.source) ==
        0) {
      return false;
    }
    if (event.status == PMIX_GROUP_INVITE_DECLINED) {
      one.declined.insert(event.source);
    }
    // The members already construct the group without the leader. Those that
    // remain report the end, so the invitation fails only if none remains.
    if (!one.formers.empty()) return one.accepted.empty();
    const bool goes_on = one.tolerant || !others.empty() ||
                         results.FindBool(PMIX_GROUP_OPTIONAL).value_or(false);
    if (SaysAbort(results) || !goes_on) return true;
    one.incomplete |= others.empty();
    invites = one.awaited.size() + others.size() <= kMaxInvited;
    if (invites) one.awaited.insert(others.begin(), others.end());
    return false;
  });
  if (lost) {
    return GiveUp(session, name, *std::move(lost), PMIX_GROUP_CONSTRUCT_ABORT);
  }
  if (invites) Tell(session, PMIX_GROUP_INVITED, others, About(name));
  FormIfComplete(session, name);
}

}  // namespace canopy::client
