#include "client/session/group_invite_op.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/events/event.h"
#include "client/events/handler.h"
#include "client/session/group_invitation_events.h"
#include "client/session/group_invitations.h"
#include "client/session/group_joiner.h"
#include "client/session/group_leader.h"
#include "client/session/operation_numbers.h"
#include "client/session/target.h"
#include "common/ids.h"
#include "common/job_name.h"
#include "common/local_protocol.h"
#include "common/mutex.h"
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
      session.invitations().NoteInviter(name, event.source);
      return;
    case PMIX_GROUP_INVITE_ACCEPTED:
      return OnAccepted(session, name, event);
    case PMIX_GROUP_MEMBERSHIP_UPDATE:
      return OnMembers(session, name, event);
    case PMIX_GROUP_CONSTRUCT_COMPLETE:
      return OnComplete(session, name, event);
    case PMIX_GROUP_CONSTRUCT_ABORT:
      return OnAbort(session, name, event);
    case PMIX_GROUP_LEADER_SELECTED:
      return OnSelected(session, name, event);
    default:
      return;
  }
}

// `results` are those of the handlers, once they have run; null before.
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

// Subscribes before the invitation or its answer; the agent keeps earlier
// events.
void Watch(Session& session) {
  if (!session.invitations().BeginWatching()) return;
  HandlerSpec spec;
  spec.codes = {PMIX_GROUP_INVITE_ACCEPTED, PMIX_GROUP_INVITE_DECLINED,
                PMIX_GROUP_INVITE_FAILED,   PMIX_GROUP_MEMBERSHIP_UPDATE,
                PMIX_GROUP_CONSTRUCT_ABORT, PMIX_GROUP_CONSTRUCT_COMPLETE,
                PMIX_GROUP_LEADER_SELECTED, PMIX_GROUP_LEADER_FAILED};
  const SubscriptionChange change = session.subscriptions().Add(spec);
  for (const ChannelRef& server : session.servers().open()) {
    server->ExpectEvents(true);
    if (change.empty()) continue;
    (void)server->CallAsync(local::FrameType::kEventsWanted, change.Encode(),
                            [](const Reply&) {});
  }
}

int CheckName(const Session& session, const char* name,
              const InfoArray& directives) {
  if (name == nullptr || !directives.ok()) return PMIX_ERR_BAD_PARAM;
  const std::string_view text = name;
  if (text.empty() || text.size() > kMaxNspaceLen ||
      text == session.self().nspace || IsJobName(text)) {
    return PMIX_ERR_BAD_PARAM;
  }
  return PMIX_SUCCESS;
}

// Reads the directives; refuses or reports those not in `known`.
int ReadDirectives(std::string_view function, const InfoArray& directives,
                   std::initializer_list<std::string_view> known,
                   uint32_t* timeout_ms) {
  for (const pmix_info_t& info : std::span(directives.infos, directives.size)) {
    if (KeyOf(info) == PMIX_TIMEOUT) {
      const int rc = TimeoutOf(info, timeout_ms);
      if (rc != PMIX_SUCCESS) return rc;
    } else if (std::ranges::find(known, KeyOf(info)) == known.end()) {
      const int rc = support::NotHonoured(function, info);
      if (rc != PMIX_SUCCESS) return rc;
    }
  }
  return PMIX_SUCCESS;
}

// Lists the invited processes one by one, without the caller.
int ReadInvited(Session& session, const GroupRequest& request,
                std::set<ProcId>* invited) {
  if (request.procs == nullptr || request.nprocs == 0) {
    return PMIX_ERR_BAD_PARAM;
  }
  for (const pmix_proc_t& proc : std::span(request.procs, request.nprocs)) {
    const std::string nspace(NspaceOf(proc));
    const JobView* job = session.namespaces().Find(nspace);
    if (nspace.empty()) return PMIX_ERR_BAD_PARAM;
    if (proc.rank == PMIX_RANK_WILDCARD) {
      if (job == nullptr) return PMIX_ERR_NOT_FOUND;
      if (job->num_ranks() > kMaxInvited) return PMIX_ERR_OUT_OF_RESOURCE;
      for (Rank rank = 0; rank < job->num_ranks(); ++rank) {
        invited->insert({nspace, rank});
      }
    } else if (!IsProcessRank(proc.rank) ||
               (job != nullptr && proc.rank >= job->num_ranks())) {
      return PMIX_ERR_BAD_PARAM;
    } else {
      invited->insert({nspace, proc.rank});
    }
    if (invited->size() > kMaxInvited) return PMIX_ERR_OUT_OF_RESOURCE;
  }
  invited->erase(session.self());
  return PMIX_SUCCESS;
}

int Invite(Session& session, const GroupRequest& request, GroupDone done) {
  SentInvitation sent;
  uint32_t timeout_ms = 0;
  int rc = CheckName(session, request.name, request.directives);
  if (rc == PMIX_SUCCESS) {
    rc = ReadDirectives(
        "PMIx_Group_invite", request.directives,
        {PMIX_GROUP_OPTIONAL, PMIX_GROUP_FT_COLLECTIVE,
         PMIX_GROUP_ASSIGN_CONTEXT_ID, PMIX_GROUP_NOTIFY_TERMINATION,
         PMIX_GROUP_ENDPT_DATA, PMIX_GROUP_INFO, PMIX_GROUP_LEADER},
        &timeout_ms);
  }
  if (rc == PMIX_SUCCESS) rc = ReadInvited(session, request, &sent.awaited);
  if (rc != PMIX_SUCCESS) return rc;
  if (session.job_channel() == nullptr) return PMIX_ERR_UNREACH;
  const std::string name = request.name;
  if (session.groups().Has(name)) return PMIX_ERR_EXISTS;
  sent.directives =
      InfoList::FromC(request.directives.infos, request.directives.size);
  sent.tolerant =
      sent.directives.FindBool(PMIX_GROUP_OPTIONAL).value_or(false) ||
      sent.directives.FindBool(PMIX_GROUP_FT_COLLECTIVE).value_or(false);
  sent.done = std::move(done);
  const std::vector<ProcId> invited = ListOf(sent.awaited);
  uint64_t number = 0;
  if (!session.invitations().Add(name, std::move(sent), &number)) {
    return PMIX_ERR_EXISTS;
  }
  Watch(session);
  Tell(session, PMIX_GROUP_INVITED, invited, About(name));
  After(session, GroupCall::kInvite, name, timeout_ms,
        [&session, name, number] {
          auto late = session.invitations().TakeSentIf(
              name, [number](const SentInvitation& one) {
                return one.number == number;
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

// Without a name the leader is the process that has sent the invitation.
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
  int rc = CheckName(session, request.name, request.directives);
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
  Watch(session);
  Accept(session, name, leader);
  After(session, GroupCall::kJoin, name, timeout_ms, [&session, name, number] {
    const auto late = session.invitations().TakeAcceptedIf(
        name, [number](const AcceptedInvitation& one) {
          return one.number == number;
        });
    if (!late) return;
    // The leader must not wait for this process.
    Tell(session, PMIX_GROUP_INVITE_DECLINED, {late->leader}, About(name));
    late->done(PMIX_ERR_TIMEOUT, {});
  });
  session.progress().Post(
      [&session, name, leader] { TakeUpEnd(session, name, leader); });
  return PMIX_SUCCESS;
}

GroupDone CallBack(pmix_info_cbfunc_t cbfunc, void* cbdata) {
  return [cbfunc, cbdata](int status, InfoList results) {
    cbfunc(status, results.mutable_data(), results.size(), cbdata, nullptr,
           nullptr);
  };
}

// Starts an operation with `begin` and waits for its end.
template <typename Begin>
int Await(Session& session, Begin begin, pmix_info_t** results,
          size_t* nresults) {
  struct Waiting {
    Mutex mu;
    CondVar ended;
    std::optional<int> status CANOPY_GUARDED_BY(mu);
    InfoList results CANOPY_GUARDED_BY(mu);
  };
  if (results != nullptr) *results = nullptr;
  if (nresults != nullptr) *nresults = 0;
  if (session.progress().InTask()) return PMIX_ERR_INVALID_OPERATION;
  const auto waiting = std::make_shared<Waiting>();
  const int rc = begin([waiting](int status, InfoList infos) {
    const MutexLock lock(waiting->mu);
    waiting->status = status;
    waiting->results = std::move(infos);
    waiting->ended.NotifyAll();
  });
  if (rc != PMIX_SUCCESS) return rc;
  for (;;) {
    // If the program drives progress itself, this thread must do so meanwhile.
    session.progress().RunPending();
    const MutexLock lock(waiting->mu);
    if (!waiting->status) {
      (void)waiting->ended.WaitUntil(
          waiting->mu,
          std::chrono::steady_clock::now() + std::chrono::milliseconds(10));
    }
    if (!waiting->status) {
      if (session.job_channel()->lost()) return PMIX_ERR_LOST_CONNECTION;
      continue;
    }
    if (results != nullptr && nresults != nullptr) {
      *results = waiting->results.Release(nresults);
    }
    return *waiting->status;
  }
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
  return Await(
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
  return Await(
      session,
      [&](GroupDone done) { return Join(session, request, std::move(done)); },
      results, nresults);
}

}  // namespace canopy::client
