#include "client/session/group_bootstrap_op.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
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
#include "client/session/group_leader.h"
#include "client/session/publish_then.h"
#include "client/session/target.h"
#include "common/ids.h"
#include "common/local/collectives.h"
#include "common/values/info_list.h"
#include "common/values/value.h"

namespace canopy::client {
namespace {

struct BootstrapCall {
  std::string name;
  size_t leaders = 0;  // 0: the caller is not a leader
  std::set<ProcId> members;
  InfoList directives;  // directives of the construct
  uint32_t timeout_ms = 0;
};

// A leader that has not met the other leaders yet.
struct Meeting {
  std::string name;
  uint64_t number = 0;  // of the awaited invitation
  size_t leaders = 0;
  std::vector<ProcId> members;
  uint32_t timeout_ms = 0;
  size_t attempt = 0;
};
using MeetingRef = std::shared_ptr<Meeting>;

bool Has(const InfoArray& directives, std::string_view key) {
  return std::ranges::any_of(
      std::span(directives.infos, directives.size),
      [&](const pmix_info_t& info) { return KeyOf(info) == key; });
}

int ReadLeader(Session& session, const GroupRequest& request,
               BootstrapCall* call) {
  if (request.procs == nullptr || request.nprocs == 0) {
    return PMIX_ERR_BAD_PARAM;
  }
  int rc =
      ListProcesses(session, {request.procs, request.nprocs}, &call->members);
  if (rc != PMIX_SUCCESS) return rc;
  if (!call->members.contains(session.self())) return PMIX_ERR_BAD_PARAM;
  if (call->directives.Has(PMIX_GROUP_BOOTSTRAP)) {
    call->leaders = call->directives.FindUint(PMIX_GROUP_BOOTSTRAP).value_or(0);
    if (call->leaders == 0) return PMIX_ERR_BAD_PARAM;
    if (call->leaders > kMaxLeaders) return PMIX_ERR_OUT_OF_RESOURCE;
  } else {
    call->leaders = 1;
  }
  const pmix_info_t* added = call->directives.Find(PMIX_GROUP_ADD_MEMBERS);
  if (added == nullptr) return PMIX_SUCCESS;
  const auto procs = ProcsOf(added->value);
  if (!procs) return PMIX_ERR_BAD_PARAM;
  return ListProcesses(session, *procs, &call->members);
}

int Read(Session& session, const GroupRequest& request, BootstrapCall* call) {
  int rc = CheckGroupName(session, request.name, request.directives);
  if (rc != PMIX_SUCCESS) return rc;
  call->name = request.name;
  call->directives =
      InfoList::FromC(request.directives.infos, request.directives.size);
  if (const pmix_info_t* limit = call->directives.Find(PMIX_TIMEOUT)) {
    rc = TimeoutOf(*limit, &call->timeout_ms);
    if (rc != PMIX_SUCCESS) return rc;
  }
  const bool leads = request.procs != nullptr || request.nprocs != 0 ||
                     call->directives.Has(PMIX_GROUP_BOOTSTRAP) ||
                     call->directives.Has(PMIX_GROUP_ADD_MEMBERS);
  if (leads) rc = ReadLeader(session, request, call);
  call->directives.Remove(PMIX_GROUP_BOOTSTRAP);
  call->directives.Remove(PMIX_GROUP_ADD_MEMBERS);
  return rc;
}

// Returns the name of the key under which a leader publishes. Leaders of
// different users do not see each other's keys.
std::string KeyAt(const std::string& name, size_t index) {
  return "canopy.bootstrap." + std::to_string(getuid()) + "." + name + "." +
         std::to_string(index);
}

// Returns the index of the key for the next attempt. All leaders try the first
// key first. Each leader continues at a different place, so that few of them
// compete for one key.
size_t IndexOf(const Session& session, const Meeting& meeting) {
  if (meeting.attempt == 0) return 0;
  const size_t others = meeting.leaders - 1;
  const size_t begin =
      std::hash<std::string>()(session.self().nspace) + session.self().rank;
  return 1 + (begin + meeting.attempt) % others;
}

void Fail(Session& session, const Meeting& meeting, int status) {
  auto mine = session.invitations().TakeAwaitedIf(
      meeting.name, [&](const AwaitedInvitation& one) {
        return one.number == meeting.number;
      });
  if (!mine) return;
  Withdraw(session, mine->key,
           [done = mine->done, status] { done(status, {}); });
}

// Invites all members, as the first leader. The first leader's key stays until
// the construct has ended, so that no other bootstrap of a group of this name
// begins before.
void InviteAll(Session& session, const Meeting& meeting,
               std::set<ProcId> members) {
  auto mine = session.invitations().TakeAwaitedIf(
      meeting.name, [&](const AwaitedInvitation& one) {
        return one.number == meeting.number;
      });
  if (!mine) return;
  InfoList infos = MembersOf(meeting.name, ListOf(members));
  infos.Add(PMIX_GROUP_BOOTSTRAP, Value::Size(meeting.leaders));
  SentInvitation sent;
  sent.directives = std::move(mine->directives);
  sent.tolerant = IsTolerant(sent.directives);
  sent.awaited = std::move(members);
  sent.awaited.erase(session.self());
  sent.number = mine->number;
  sent.done = [&session, key = mine->key, done = mine->done](
                  int status, const InfoList& results) {
    Withdraw(session, key, [done, status, results] { done(status, results); });
  };
  const std::vector<ProcId> invited = ListOf(sent.awaited);
  const GroupDone done = sent.done;
  uint64_t number = 0;
  if (!session.invitations().Add(meeting.name, std::move(sent), &number)) {
    return done(PMIX_ERR_EXISTS, {});
  }
  Tell(session, PMIX_GROUP_INVITED, invited, std::move(infos));
  FormIfComplete(session, meeting.name);
}

// Adds the members of one leader. Returns a PMIx status.
int Merge(const Meeting& meeting, const pmix_pdata_t& data,
          std::set<ProcId>* members) {
  const auto published = InfosOf(data.value);
  if (!published) return PMIX_ERR_BAD_PARAM;
  const InfoList infos = InfoList::FromC(published->data(), published->size());
  const pmix_info_t* added = infos.Find(PMIX_GROUP_ADD_MEMBERS);
  if (infos.FindUint(PMIX_GROUP_BOOTSTRAP) != meeting.leaders ||
      added == nullptr) {
    return PMIX_ERR_BAD_PARAM;
  }
  const std::vector<ProcId> procs = ProcsOfInfo(*added);
  members->insert(procs.begin(), procs.end());
  return members->contains(FromC(data.proc)) ? PMIX_SUCCESS
                                             : PMIX_ERR_BAD_PARAM;
}

// Called when all leaders have published, or when the lookup of their keys has
// failed.
void OnMet(Session& session, const Meeting& meeting, int status,
           std::span<const pmix_pdata_t> found) {
  if (status != PMIX_SUCCESS) {
    const bool late = status == PMIX_ERR_PARTIAL_SUCCESS;
    return Fail(session, meeting, late ? PMIX_ERR_TIMEOUT : status);
  }
  std::set<ProcId> members;
  std::vector<ProcId> leaders;
  for (const pmix_pdata_t& one : found) {
    const int rc = Merge(meeting, one, &members);
    if (status == PMIX_SUCCESS) status = rc;
    if (const ProcId leader = FromC(one.proc); leader != session.self()) {
      leaders.push_back(leader);
    }
  }
  if (members.size() > kMaxInvited) status = PMIX_ERR_OUT_OF_RESOURCE;
  if (status == PMIX_SUCCESS) {
    return InviteAll(session, meeting, std::move(members));
  }
  InfoList infos = About(meeting.name);
  infos.Add(PMIX_GROUP_BOOTSTRAP, Value::Size(meeting.leaders));
  Tell(session, PMIX_GROUP_CONSTRUCT_ABORT, leaders, std::move(infos));
  Fail(session, meeting, status);
}

// Waits, as the first leader, for the keys of all leaders.
void Gather(Session& session, const MeetingRef& meeting) {
  std::vector<std::string> keys;
  for (size_t i = 0; i < meeting->leaders; ++i) {
    keys.push_back(KeyAt(meeting->name, i));
  }
  InfoList infos;
  infos.Add(PMIX_WAIT, Value::Int(static_cast<int>(meeting->leaders)));
  if (meeting->timeout_ms != 0) {
    const uint32_t seconds = (meeting->timeout_ms + 999) / 1000;
    infos.Add(PMIX_TIMEOUT, Value::Int(static_cast<int>(seconds)));
  }
  LookUpThen(
      session, std::move(keys), infos,
      [&session, meeting](int status, std::span<const pmix_pdata_t> found) {
        OnMet(session, *meeting, status, found);
      });
}

void OnPublished(Session& session, const MeetingRef& meeting,
                 const std::string& key, bool first) {
  bool waits = false;
  bool aborted = false;
  const auto note = [&](AwaitedInvitation& one) {
    if (one.number != meeting->number) return false;
    waits = true;
    aborted = one.aborted;
    one.key = key;
    one.publishing = false;
    return false;
  };
  (void)session.invitations().TakeAwaitedIf(meeting->name, note);
  if (!waits) return Withdraw(session, key, [] {});
  if (aborted) return Fail(session, *meeting, PMIX_GROUP_CONSTRUCT_ABORT);
  if (first) return Gather(session, meeting);
  TakeUpBootstrap(session, meeting->name);
}

// Publishes the members of this leader at the first key that is free.
void Meet(Session& session, const MeetingRef& meeting) {
  if (meeting->attempt == meeting->leaders) {
    return Fail(session, *meeting, PMIX_ERR_EXISTS);
  }
  const size_t index = IndexOf(session, *meeting);
  const std::string key = KeyAt(meeting->name, index);
  InfoList what;
  what.Add(PMIX_GROUP_BOOTSTRAP, Value::Size(meeting->leaders));
  what.Add(PMIX_GROUP_ADD_MEMBERS, Value::ProcArray(meeting->members));
  InfoList infos;
  infos.Add(key, Value::InfoArray(what));
  infos.Add(PMIX_PERSISTENCE, Value::Integer(PMIX_PERSIST, PMIX_PERSIST_PROC));
  PublishThen(session, infos, [&session, meeting, key, index](int status) {
    if (status == PMIX_SUCCESS) {
      return OnPublished(session, meeting, key, index == 0);
    }
    if (status != PMIX_ERR_DUPLICATE_KEY) {
      return Fail(session, *meeting, status);
    }
    ++meeting->attempt;
    Meet(session, meeting);
  });
}

// Called when the time limit of the whole call, up to the construct, has
// passed.
void OnLate(Session& session, const std::string& name, uint64_t number) {
  const auto is_it = [number](const auto& one) { return one.number == number; };
  if (const auto one = session.invitations().TakeAwaitedIf(name, is_it)) {
    Withdraw(session, one->key,
             [done = one->done] { done(PMIX_ERR_TIMEOUT, {}); });
  } else if (const auto joined =
                 session.invitations().TakeAcceptedIf(name, is_it)) {
    Tell(session, PMIX_GROUP_INVITE_DECLINED, {joined->leader}, About(name));
    joined->done(PMIX_ERR_TIMEOUT, {});
  } else if (auto sent = session.invitations().TakeSentIf(name, is_it)) {
    GiveUp(session, name, *std::move(sent), PMIX_ERR_TIMEOUT);
  }
}

int Begin(Session& session, const GroupRequest& request, GroupDone done) {
  BootstrapCall call;
  const int rc = Read(session, request, &call);
  if (rc != PMIX_SUCCESS) return rc;
  if (session.job_channel() == nullptr) return PMIX_ERR_UNREACH;
  if (session.groups().Has(call.name)) return PMIX_ERR_EXISTS;
  AwaitedInvitation awaited;
  awaited.directives = std::move(call.directives);
  awaited.members = ListOf(call.members);
  awaited.publishing = call.leaders != 0;
  awaited.done = std::move(done);
  const auto meeting = std::make_shared<Meeting>(
      Meeting{call.name, 0, call.leaders, awaited.members, call.timeout_ms, 0});
  if (!session.invitations().Add(call.name, std::move(awaited),
                                 &meeting->number)) {
    return PMIX_ERR_EXISTS;
  }
  WatchInvitations(session);
  WatchBootstraps(session);
  After(
      session, local::GroupStep::kJoin, call.name, call.timeout_ms,
      [&session, meeting] { OnLate(session, meeting->name, meeting->number); });
  session.progress().Post([&session, meeting] {
    if (meeting->leaders != 0) return Meet(session, meeting);
    TakeUpBootstrap(session, meeting->name);
  });
  return PMIX_SUCCESS;
}

}  // namespace

bool IsBootstrap(const Session& session, const GroupRequest& request) {
  if (!request.directives.ok()) return false;
  if (request.procs == nullptr) return request.nprocs == 0;
  if (Has(request.directives, PMIX_GROUP_BOOTSTRAP)) return true;
  return Has(request.directives, PMIX_GROUP_ADD_MEMBERS) &&
         request.nprocs == 1 && FromC(request.procs[0]) == session.self();
}

int BootstrapGroupAsync(Session& session, const GroupRequest& request,
                        pmix_info_cbfunc_t cbfunc, void* cbdata) {
  return Begin(session, request, CallBack(cbfunc, cbdata));
}

int BootstrapGroup(Session& session, const GroupRequest& request,
                   pmix_info_t** results, size_t* nresults) {
  return AwaitGroup(
      session,
      [&](GroupDone done) { return Begin(session, request, std::move(done)); },
      results, nresults);
}

}  // namespace canopy::client
