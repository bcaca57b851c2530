#include "client/session/group_bootstrap_members.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "client/session/group_invitation_events.h"
#include "client/session/group_invitations.h"
#include "client/session/group_joiner.h"
#include "client/session/publish_then.h"

namespace canopy::client {
namespace {

// The answer of this process to an invitation.
struct Answer {
  bool declines = false;
  std::optional<AwaitedInvitation> accepts;
};

// Decides about an invitation. A leader accepts only a group that includes all
// members that it has added, because the first leader may have read the members
// that this leader published for an earlier bootstrap.
Answer AnswerTo(Session& session, const std::string& name,
                const BootstrapInvitation& invitation) {
  Answer answer;
  answer.accepts = session.invitations().TakeAwaitedIf(
      name, [&](const AwaitedInvitation& one) {
        if (one.publishing) return false;
        answer.declines =
            !std::ranges::includes(invitation.members, one.members);
        return !answer.declines;
      });
  return answer;
}

void AcceptFrom(Session& session, const std::string& name, const ProcId& leader,
                AwaitedInvitation awaited) {
  AcceptedInvitation accepted;
  accepted.leader = leader;
  accepted.directives = std::move(awaited.directives);
  accepted.number = awaited.number;
  accepted.done = std::move(awaited.done);
  uint64_t number = 0;
  // The program may have answered another invitation of that name meanwhile.
  const GroupDone done = accepted.done;
  if (!session.invitations().Add(name, std::move(accepted), &number)) {
    return Withdraw(session, awaited.key,
                    [done] { done(PMIX_ERR_EXISTS, {}); });
  }
  // The key is removed before the construct can begin, so that no later
  // bootstrap reads it.
  Withdraw(session, awaited.key,
           [&session, name, leader] { Accept(session, name, leader); });
}

// Called when the construct of an invitation has failed before this process
// called PMIx_Group_construct. The call of an added member fails too, because
// it is not certain that the leaders try again. The call of a leader begins
// another bootstrap.
void EndWith(Session& session, const std::string& name, const ProcId& leader) {
  bool waits = false;
  const auto mine = session.invitations().TakeAwaitedIf(
      name, [&](const AwaitedInvitation& one) {
        waits = true;
        return one.members.empty();
      });
  if (!waits) return;
  session.invitations().ForgetBootstrap(name);
  (void)session.invitations().TakeEnd(leader, name);
  if (mine) mine->done(PMIX_GROUP_CONSTRUCT_ABORT, {});
}

}  // namespace

void Withdraw(Session& session, const std::string& key,
              std::function<void()> then) {
  if (key.empty()) return then();
  // Without a connection the agents remove the key when the process ends.
  UnpublishThen(session, key, [then = std::move(then)](int) { then(); });
}

void TakeUpBootstrap(Session& session, const std::string& name) {
  const auto invitation = session.invitations().BootstrapOf(name);
  if (!invitation) return;
  if (session.invitations().HasEnded(invitation->leader, name)) {
    return EndWith(session, name, invitation->leader);
  }
  Answer answer = AnswerTo(session, name, *invitation);
  if (!answer.accepts && !answer.declines) return;
  session.invitations().ForgetBootstrap(name);
  if (answer.declines) {
    Tell(session, PMIX_GROUP_INVITE_DECLINED, {invitation->leader},
         About(name));
    return;
  }
  AcceptFrom(session, name, invitation->leader, *std::move(answer.accepts));
}

void OnBootstrapInvited(Session& session, const std::string& name,
                        const Event& event) {
  session.invitations().NoteBootstrap(name, {event.source, MembersIn(event)});
  TakeUpBootstrap(session, name);
}

void OnBootstrapAborted(Session& session, const std::string& name,
                        const Event& event) {
  if (!event.infos.Has(PMIX_GROUP_BOOTSTRAP)) return;
  const auto mine =
      session.invitations().TakeAwaitedIf(name, [](AwaitedInvitation& one) {
        one.aborted = !one.members.empty();
        return one.aborted && !one.publishing;
      });
  if (!mine) return;
  Withdraw(session, mine->key,
           [done = mine->done] { done(PMIX_GROUP_CONSTRUCT_ABORT, {}); });
}

}  // namespace canopy::client
