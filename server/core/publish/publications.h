// The publications of which an agent is the steward: it decides how long each
// lives. An agent is the steward of the publications of its own processes, and
// of those that it adopted when the steward of a surviving copy was lost.
//
// States of a publication:
//
// - offered: added at this agent and sent to the owner of its key. The owner
//   accepts it (`accepted`) or rejects it, for example because the key is
//   taken. If the key has another owner when the answer arrives, the steward
//   offers the publication again, to that owner.
// - confirmed: its call of PMIx_Publish succeeds. The publication is now
//   persisted and, if it must survive this agent, copied to other agents.
// - taken: only for PMIX_PERSIST_FIRST_READ. The agent of a reader has
//   requested it (a claim, DirectoryClaim). The steward makes the reader known
//   to all holders of a copy and answers the claim afterwards. The reader's
//   agent then finishes the claim, which removes the publication, or returns
//   it.
// - removed: all holders get a removal; its journal record is cleared when all
//   have answered.
//
// Invariants: the steward alone changes a publication, and raises its version
// when the reader or the steward changes. `holders` contains every agent that
// may have a copy, even one that rejected it, because messages may be repeated.
// A rejected or returned claim has no effect if it arrives again. If a steward
// learns that another agent is the rightful steward (IsRightSteward), from that
// agent or from a holder, it gives up the publication.
#ifndef CANOPY_SERVER_CORE_PUBLISH_PUBLICATIONS_H_
#define CANOPY_SERVER_CORE_PUBLISH_PUBLICATIONS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/publish/journal_slots.h"
#include "server/core/publish/peer_calls.h"
#include "server/core/publish/publication.h"
#include "server/core/publish/publish_step.h"
#include "server/core/publish/quota.h"
#include "server/core/publish/recent.h"
#include "server/core/step/client_id.h"
#include "server/core/step/persisted_state.h"
#include "server/core/tree.h"

namespace canopy::core {

// Not synchronised. The references passed to the constructor outlive this
// object. The caller updates tree and job table before it reports a change.
class Publications {
 public:
  using Ids = std::vector<PublicationId>;
  using Done = std::function<void(PublishStep&)>;

  Publications(NodeId self, const Tree& tree, const JobTable& jobs,
               PeerCalls& calls);

  void set_persists(bool persists) { slots_.set_enabled(persists); }
  // Called before a publication ends because it was read, if the publishing
  // call may still be repeated. `predecessors` is true if a predecessor
  // received that call, so that it may be repeated to this agent.
  using OnRead =
      std::function<void(PublishStep&, const Publication&, bool predecessors)>;
  void set_on_read(OnRead on_read) { on_read_ = std::move(on_read); }

  // ------------------------------------------------------ own processes ---

  // Returns false if the publication would exceed a limit of its job or its
  // user.
  bool Fits(const Publication& publication) const {
    return quota_.Fits(publication);
  }
  // Adds a publication of a client; `publication.id` is set already. Calls
  // `done` with the status when the owner has accepted or rejected it.
  void Add(PublishStep& step, ClientId client, Publication publication,
           std::function<void(PublishStep&, int status)> done);
  // Called before the publishing call succeeds: persists the publication and,
  // if it must survive this agent, copies it to other agents.
  void Confirm(PublishStep& step, const PublicationId& id);
  // Removes publications; calls `done` when no agent holds them any more.
  void Remove(PublishStep& step, const Ids& ids, Done done);

  // Returns the publications of a process, in the order of their numbers.
  Ids Of(const ProcId& publisher) const;
  // Returns true if a request was already executed and is now repeated, as
  // after a reattach. A new process of the same rank may use the same number,
  // so the clients are compared.
  bool WasExecuted(const ProcId& publisher, uint64_t request,
                   ClientId client) const;
  // Returns the publication; null if this agent does not have it. The pointer
  // is valid until the next call of a non-const method.
  const Publication* Find(const PublicationId& id) const;
  // Called when the process has finalized and will repeat none of its calls.
  void OnFinalized(PublishStep& step, const ProcId& publisher);
  void OnRankEnded(PublishStep& step, const ProcId& publisher);
  // Called when a tool, which is in no job, has disconnected. Ends the
  // publications whose life is that of their publisher's job.
  void OnToolGone(PublishStep& step, const ProcId& publisher);
  void OnJobRemoved(PublishStep& step, const std::string& nspace);

  // -------------------------------------------------------- other agents ---

  void OnPull(PublishStep& step, NodeId src, const DirectoryPull& pull);
  void OnClaim(PublishStep& step, NodeId src, const DirectoryClaim& claim);
  // Called if the sender holds a copy and regards this agent, which has
  // restarted, as the steward. This agent confirms the publication, adopts it,
  // or has it removed.
  void OnReturned(PublishStep& step, NodeId src, const DirectoryStore& store);
  // Called if another agent acts as the steward of `publication`: gives the
  // publication up if that agent prevails (IsRightSteward).
  void OnOtherSteward(const Publication& publication);
  // Becomes the steward of a publication whose steward was lost and of which
  // this agent holds a copy.
  void Adopt(PublishStep& step, Publication publication);
  void OnNodeLost(PublishStep& step, NodeId node);
  // Called when the node has a new agent. That agent has no copies, but may
  // still receive some that are in flight.
  void OnNodeRestarted(PublishStep& step, NodeId node);
  // Called after a change of the membership. Copies each publication that must
  // survive this agent to the members that must hold it now.
  void EnsureCopies(PublishStep& step);

  // Recovers a publication from a predecessor's record; ignores other records.
  void Recover(PublishStep& step, const std::string& nspace,
               const PersistedRecord& record);

  // Returns the number of publications that end with their jobs.
  size_t num_of_jobs() const;

 private:
  struct Owned {
    Publication publication;
    // Agents that have a copy, or may have one.
    std::set<NodeId> holders;
    // The owner has accepted the publication, so a new owner must get it too.
    bool accepted = false;
    // Confirm was called. Until then, no claim of a publication for one reader
    // is granted.
    bool confirmed = false;
    // Number of changes that not all holders have acknowledged; claims are
    // answered when it is 0.
    uint64_t settling = 0;
    std::vector<std::pair<NodeId, DirectoryClaim>> claims;
    // Agent and request of the claim that has reserved the publication.
    std::pair<NodeId, uint64_t> taken{kNoNode, 0};
  };
  using Adding = std::function<void(PublishStep&, int status)>;

  Owned* FindOwned(const PublicationId& id);
  NodeId OwnerOf(const Publication& publication) const;
  void ForgetCall(const Publication& publication);
  // Returns true if a predecessor received the publishing call.
  bool IsOfPredecessor(const Publication& publication) const;
  void Offer(PublishStep& step, const PublicationId& id, const Adding& done);
  void OnOffered(PublishStep& step, const PublicationId& id, NodeId owner,
                 int status, const Adding& done);
  // Sends a copy to an agent; PeerCalls repeats it as needed.
  void Copy(PublishStep& step, Owned& owned, NodeId to,
            std::shared_ptr<Countdown> countdown);
  void Yield(const PublicationId& id);
  void CopyAsNeeded(PublishStep& step, Owned& owned);
  // Returns the other agents that must have a copy so that the publication
  // survives this agent.
  std::set<NodeId> CopiesOf(const Owned& owned) const;
  // Returns all agents that may have a copy. For a recovered publication, these
  // are the agents that the predecessor would have chosen.
  std::set<NodeId> HoldersOf(const Owned& owned) const;
  void Persist(PublishStep& step, const Owned& owned);
  // Persists a change, sends it to all holders, and answers the claims when all
  // have acknowledged it.
  void Settle(PublishStep& step, Owned& owned);
  void AnswerClaims(PublishStep& step, const PublicationId& id);
  void Take(PublishStep& step, NodeId src, Owned& owned,
            const DirectoryClaim& claim);
  void EndClaim(PublishStep& step, NodeId src, Owned& owned,
                const DirectoryClaim& claim);
  Owned& Insert(Publication publication, ClientId client);
  void Erase(const PublicationId& id);
  void RemoveIf(PublishStep& step,
                const std::function<bool(const Publication&)>& ends);

  const NodeId self_;
  const Tree& tree_;
  const JobTable& jobs_;
  PeerCalls& calls_;
  OnRead on_read_;
  // Claims that were rejected or returned, by agent and number. The answer to a
  // repetition of such a claim has no receiver, so the repetition must not
  // reserve the publication.
  Recent ended_claims_;  // keyed by DigestOf
  PublishQuota quota_;
  JournalSlots slots_;
  std::map<PublicationId, Owned> owned_;
  // The client that made a call, and the number of its publications that exist.
  // Client 0 stands for a client of a predecessor.
  struct Call {
    ClientId client = 0;
    size_t publications = 0;
  };
  std::map<std::pair<ProcId, uint64_t>, Call> calls_of_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_PUBLISH_PUBLICATIONS_H_
