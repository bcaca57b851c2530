// The publications that an agent is the steward of: those of its processes, and
// those that have outlived the agent of theirs. It decides how long they live.
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

// Not synchronised. Tree, table and calls outlive it and have been updated
// before it is told of a change.
class Publications {
 public:
  using Ids = std::vector<PublicationId>;
  using Done = std::function<void(PublishStep&)>;

  Publications(NodeId self, const Tree& tree, const JobTable& jobs,
               PeerCalls& calls);

  void set_persists(bool persists) { slots_.set_enabled(persists); }
  // Called before what ends when it is read ends, if the call that has
  // published it may be repeated: to this agent, if a predecessor has taken it.
  using OnRead =
      std::function<void(PublishStep&, const Publication&, bool predecessors)>;
  void set_on_read(OnRead on_read) { on_read_ = std::move(on_read); }

  // ------------------------------------------------------ own processes ---

  bool Fits(const Publication& publication) const {
    return quota_.Fits(publication);
  }
  // A new one of a client: its id is complete. Calls done(status) when the
  // owner has it, or has refused it.
  void Add(PublishStep& step, ClientId client, Publication publication,
           std::function<void(PublishStep&, int status)> done);
  // Its call is about to succeed: it is persisted, and copied where it must
  // survive this agent.
  void Confirm(PublishStep& step, const PublicationId& id);
  // `done` when nobody holds them any more.
  void Remove(PublishStep& step, const Ids& ids, Done done);

  // Those of a process, in the order of their numbers.
  Ids Of(const ProcId& publisher) const;
  // Whether a call was executed and comes again, as it does after a reattach;
  // another process of the same rank may use the same number.
  bool WasExecuted(const ProcId& publisher, uint64_t request,
                   ClientId client) const;
  // Null when it is not here; valid until the next call of a function that
  // changes something.
  const Publication* Find(const PublicationId& id) const;
  // It has finalized: none of its calls is repeated from here on.
  void OnFinalized(PublishStep& step, const ProcId& publisher);
  void OnRankEnded(PublishStep& step, const ProcId& publisher);
  // It is in no job: what ends with a job ends now.
  void OnToolGone(PublishStep& step, const ProcId& publisher);
  void OnJobRemoved(PublishStep& step, const std::string& nspace);

  // -------------------------------------------------------- other agents ---

  void OnPull(PublishStep& step, NodeId src, const DirectoryPull& pull);
  void OnClaim(PublishStep& step, NodeId src, const DirectoryClaim& claim);
  // The sender has it, and thinks that this agent, which was restarted, is its
  // steward.
  void OnReturned(PublishStep& step, NodeId src, const DirectoryStore& store);
  // Another agent says that it is the steward of one; of two, the one with the
  // lower number is.
  void OnOtherSteward(const Publication& publication);
  // It has lost its steward and was held here.
  void Adopt(PublishStep& step, Publication publication);
  void OnNodeLost(PublishStep& step, NodeId node);
  // It has none of the copies any more, but may get some that are under way.
  void OnNodeRestarted(PublishStep& step, NodeId node);
  // Copies what must survive this agent to where that belongs now.
  void EnsureCopies(PublishStep& step);

  // One of a predecessor's records; others are left alone.
  void Recover(PublishStep& step, const std::string& nspace,
               const PersistedRecord& record);

  // Those that end with their jobs.
  size_t num_of_jobs() const;

 private:
  struct Owned {
    Publication publication;
    // Agents that have it, or may.
    std::set<NodeId> holders;
    // Its present owner has accepted it: another one is to have it too.
    bool accepted = false;
    // Confirm was called. Nobody gets what ends when it is read before.
    bool confirmed = false;
    // A change is being made known to the holders; claims are answered then.
    uint64_t settling = 0;
    std::vector<std::pair<NodeId, DirectoryClaim>> claims;
    // The claim that has it.
    std::pair<NodeId, uint64_t> taken{kNoNode, 0};
  };
  using Adding = std::function<void(PublishStep&, int status)>;

  Owned* FindOwned(const PublicationId& id);
  NodeId OwnerOf(const Publication& publication) const;
  void ForgetCall(const Publication& publication);
  // Its call was made to a predecessor.
  bool IsOfPredecessor(const Publication& publication) const;
  void Offer(PublishStep& step, const PublicationId& id, const Adding& done);
  void OnOffered(PublishStep& step, const PublicationId& id, NodeId owner,
                 int status, const Adding& done);
  // Sends it to an agent, and again whenever that is needed.
  void Copy(PublishStep& step, Owned& owned, NodeId to,
            std::shared_ptr<Countdown> countdown);
  void Yield(const PublicationId& id);
  void CopyAsNeeded(PublishStep& step, Owned& owned);
  // Where else it must be to survive this agent.
  std::set<NodeId> CopiesOf(const Owned& owned) const;
  // Who may have it. A predecessor's holders are those whom it would have had.
  std::set<NodeId> HoldersOf(const Owned& owned) const;
  void Persist(PublishStep& step, const Owned& owned);
  // Persists a change and makes it known to all holders; then answers claims.
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
  // Claims that have had their end, by agent and number: nobody waits for the
  // answer to one that comes again.
  Recent ended_claims_;  // by DigestOf
  PublishQuota quota_;
  JournalSlots slots_;
  std::map<PublicationId, Owned> owned_;
  // Who has made a call, and how many publications are of it. 0: a client of a
  // predecessor.
  struct Call {
    ClientId client = 0;
    size_t publications = 0;
  };
  std::map<std::pair<ProcId, uint64_t>, Call> calls_of_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_PUBLISH_PUBLICATIONS_H_
