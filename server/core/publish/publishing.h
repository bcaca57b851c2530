// PMIx_Publish, PMIx_Lookup and PMIx_Unpublish.
//
// Each key has an owner among the agents (rendezvous.h), whose directory
// answers lookups of it and decides whether it is taken. The agent of the
// publisher is the steward of what it has published: it persists it, has it
// stored by the owner, and ends it. What is to survive its publisher's job is
// stored by a second agent too; when the steward is lost, those who have it
// take over. docs/design/publishing.md tells why it is enough.
#ifndef CANOPY_SERVER_CORE_PUBLISH_PUBLISHING_H_
#define CANOPY_SERVER_CORE_PUBLISH_PUBLISHING_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/publish/directory.h"
#include "server/core/publish/lookups.h"
#include "server/core/publish/peer_calls.h"
#include "server/core/publish/publications.h"
#include "server/core/publish/publish_calls.h"
#include "server/core/publish/publish_step.h"
#include "server/core/step/action.h"
#include "server/core/step/client_inputs.h"
#include "server/core/step/persisted_state.h"
#include "server/core/tree.h"
#include "server/core/why.h"

namespace canopy::core {

// How the operations end:
//   kSuccess
//   kErrDuplicateKey    the key is published on that range already; nothing of
//                       the call is
//   kErrPartialSuccess, kErrNotFound, kErrNoPermissions   of a lookup: some
//                       keys were found, none, none but ones that are barred
//   kErrTimeout         of a publish, nothing of it is published
//   kErrOutOfResource   over a quota, or too many keys in one call
//   kErrBadParam, kErrNotSupported (publish_calls.h; or an agent that is needed
//                       does not know of publishing)
//
// Tools publish and look up as processes of their owner. What ends with its
// publisher's process or job ends with a tool's connection; nothing of a tool
// is persisted, as it has no journal.
//
// Not synchronised. Tree and table outlive it and have been updated before it
// is notified of a change in them.
class Publishing {
 public:
  Publishing(NodeId self, const Tree& tree, const JobTable& jobs);

  void set_persists(bool persists);
  // As Gets::set_began.
  void set_began(TimeNs when) { calls_.set_began(when); }

  void OnPublish(TimeNs now, const PublishArrived& in, Actions* actions);
  void OnLookup(TimeNs now, const LookupArrived& in, Actions* actions);
  void OnUnpublish(TimeNs now, const UnpublishArrived& in, Actions* actions);
  // The client is still connected.
  void OnFinalize(TimeNs now, ClientId client, Actions* actions);
  void OnClientGone(TimeNs now, ClientId client, Actions* actions);

  // True when the body is one of these messages.
  bool OnPeer(TimeNs now, const PeerMessage& message, Actions* actions);

  void OnJobRemoved(TimeNs now, const std::string& nspace, Actions* actions);
  // It ended, or lost its connection.
  void OnRankGone(TimeNs now, const ProcId& proc, Actions* actions);
  // Its process ended, and another follows, which numbers its requests from the
  // beginning.
  void OnRankRestarted(TimeNs now, const ProcId& proc, Actions* actions);
  void OnNodeLost(TimeNs now, NodeId node, Actions* actions);
  void OnNodeReturned(TimeNs now, Actions* actions);
  void OnNodeRestarted(TimeNs now, NodeId node, Actions* actions);
  // The job is in the table.
  void Recover(TimeNs now, const std::string& nspace,
               const std::vector<PersistedRecord>& records, Actions* actions);
  void OnTick(TimeNs now, Actions* actions);
  TimeNs NextDeadline() const;

  void Describe(TimeNs now, const std::string& nspace,
                std::vector<Waiting>* out) const {
    lookups_.Describe(now, nspace, out);
  }
  // Publications that end with their jobs, here or of other agents.
  size_t num_publications() const;
  // Operations under way, of clients and of other agents.
  size_t num_operations() const;

 private:
  // A publish or unpublish of a client.
  struct Operation {
    ClientId client = 0;
    ProcId proc;
    RequestId request = 0;
    Publications::Ids ids;  // what it publishes
    size_t open = 0;        // of them, not yet decided by their owners
    int status = 0;
    Bytes result;  // the answer's payload
    TimeNs deadline = kNever;
  };

  template <typename Work>
  void Do(TimeNs now, Actions* actions, const Work& work);
  void Handle(PublishStep& step, NodeId src, const MessageBody& body);
  void OnStore(PublishStep& step, NodeId src, const DirectoryStore& store);

  // Whose the client is, and which process; nothing: it was answered.
  std::optional<Owner> OwnerOf(PublishStep& step, ClientId client,
                               RequestId request, ProcId* proc);
  int Read(PublishStep& step, const Bytes& info, bool has_data,
           PublishCall* call);
  void Publish(PublishStep& step, const PublishArrived& in, const Owner& owner,
               const ProcId& proc, const PublishCall& call);
  std::vector<Publication> PublicationsIn(const PublishArrived& in,
                                          const Owner& owner,
                                          const ProcId& proc,
                                          const PublishCall& call);
  // It is not connected any more.
  void OnToolGone(PublishStep& step, const ProcId& tool);
  // Whether a call that is repeated was already executed or is under way.
  bool IsRepetition(PublishStep& step, const PublishArrived& in,
                    const ProcId& proc);
  uint64_t Begin(PublishStep& step, ClientId client, const ProcId& proc,
                 RequestId request, uint32_t timeout_ms);
  void OnDecided(PublishStep& step, uint64_t operation, int status);
  void Finish(PublishStep& step, uint64_t operation, int status);

  const NodeId self_;
  const Tree& tree_;
  const JobTable& jobs_;
  PeerCalls calls_;
  Directory directory_;
  Publications publications_;
  Lookups lookups_;
  std::map<uint64_t, Operation> operations_;
  std::map<std::pair<ProcId, RequestId>, uint64_t> operation_of_;
  // Directives that were ignored, of which the log has a line.
  std::set<std::string> ignored_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_PUBLISH_PUBLISHING_H_
