// PMIx_Publish, PMIx_Lookup and PMIx_Unpublish (PMIx Standard, chapter
// "Publish/Lookup Operations").
//
// Each key has an owner among the agents (rendezvous.h). The owner's directory
// answers lookups of the key and decides whether the key is taken. The agent of
// the publisher is the steward of its publications: the steward persists them,
// has them stored by the owner, and ends them. A publication that must survive
// its publisher's job is also stored by a second agent. When a steward is lost,
// the agents that hold copies take over. docs/design/publishing.md explains why
// this suffices.
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
#include "server/core/engine.h"
#include "server/core/job_table.h"
#include "server/core/messages.h"
#include "server/core/publish/directory.h"
#include "server/core/publish/lookups.h"
#include "server/core/publish/peer_calls.h"
#include "server/core/publish/publications.h"
#include "server/core/publish/publish_calls.h"
#include "server/core/publish/publish_step.h"
#include "server/core/step/client_inputs.h"
#include "server/core/step/persisted_state.h"
#include "server/core/step/step_context.h"
#include "server/core/tree.h"
#include "server/core/why.h"

namespace canopy::core {

// Results of the operations:
//   kSuccess
//   kErrDuplicateKey    the key is already published on that range, or occurs
//                       twice in the call; the call publishes nothing
//   kErrPartialSuccess  lookup: some of the keys were found
//   kErrNotFound        lookup: no key was found
//   kErrNoPermissions   lookup: every key exists, but the caller may read none
//   kErrTimeout         a publish that times out publishes nothing
//   kErrOutOfResource   a quota is exceeded, a call has too many keys, or too
//                       many calls are in progress
//   kErrResourceBusy    too many lookups and stores wait at the owner of a key
//   kErrInit            the client is unknown
//   kErrBadParam        an empty or too long key; see also publish_calls.h
//   kErrNotSupported    see publish_calls.h
//
// A tool publishes and looks up as a process of its user. Publications of a
// tool that end with their publisher's process or job end with the tool's
// connection. They are not persisted, because a tool has no journal.
//
// Not synchronised. Tree and job table outlive this object; the caller updates
// them before it reports a change.
class Publishing final : public Engine {
 public:
  Publishing(NodeId self, const Tree& tree, const JobTable& jobs);

  void set_persists(bool persists) override;
  void set_began(TimeNs when) override { calls_.set_began(when); }

  void OnPublish(const StepContext& step, const PublishArrived& in);
  void OnLookup(const StepContext& step, const LookupArrived& in);
  void OnUnpublish(const StepContext& step, const UnpublishArrived& in);
  // Called while the client is still connected.
  void OnFinalize(const StepContext& step, ClientId client);
  void OnClientGone(const StepContext& step, ClientId client) override;

  // Handles the message. Returns false if it does not concern publishing.
  bool OnPeer(const StepContext& step, const PeerMessage& message);

  void OnJobRemoved(const StepContext& step, const RemovedJob& job) override;
  // Called when the process has ended or lost its connection.
  void OnRankGone(const StepContext& step, const ProcId& proc) override;
  // Called when the process has ended and was replaced by another process,
  // which numbers its requests from the beginning.
  void OnRankRestarted(const StepContext& step, const ProcId& proc) override;
  void OnNodeLost(const StepContext& step, const NodeStateChanged& in) override;
  void OnNodeReturned(const StepContext& step) override;
  void OnNodeRestarted(const StepContext& step, NodeId node) override;
  // Recovers a job's publications and answers; the job must be in the table
  // already.
  void OnJobRecovered(const StepContext& step, const JobRecovered& in) override;
  void OnTick(const StepContext& step) override;
  TimeNs NextDeadline() const override;

  void Describe(TimeNs now, const std::string& nspace,
                std::vector<Waiting>* out) const override {
    lookups_.Describe(now, nspace, out);
  }
  void Count(ResourceCounts* counts) const override;
  // Returns the number of publications that end with their jobs, published by
  // this agent or by others.
  size_t num_publications() const;
  // Returns the number of operations in progress, of clients and of other
  // agents.
  size_t num_operations() const;

 private:
  // A publish or unpublish of a client.
  struct Operation {
    ClientId client = 0;
    ProcId proc;
    RequestId request = 0;
    Publications::Ids ids;  // the publications of a publish
    size_t open = 0;        // publications without a decision of their owner
    int status = 0;
    Bytes result;  // payload of the answer
    TimeNs deadline = kNever;
  };

  template <typename Work>
  void Do(const StepContext& context, const Work& work);
  void Handle(PublishStep& step, NodeId src, const MessageBody& body);
  void OnStore(PublishStep& step, NodeId src, const DirectoryStore& store);

  // Returns the user of the client and sets `*proc`. If the client is unknown,
  // replies to it and returns no value.
  std::optional<Owner> OwnerOf(PublishStep& step, ClientId client,
                               RequestId request, ProcId* proc);
  int Read(PublishStep& step, const Bytes& info, PublishFunction function,
           PublishCall* call);
  bool HasRoomFor(const std::string& nspace) const;
  void Publish(PublishStep& step, const PublishArrived& in, const Owner& owner,
               const ProcId& proc, const PublishCall& call);
  std::vector<Publication> PublicationsIn(const PublishArrived& in,
                                          const Owner& owner,
                                          const ProcId& proc,
                                          const PublishCall& call);
  // Called when the tool has disconnected.
  void OnToolGone(PublishStep& step, const ProcId& tool);
  // Handles a repeated call: returns true if it was executed before or is in
  // progress.
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
  std::map<std::string, size_t> operations_of_;  // by job; no count is 0
  std::map<std::pair<ProcId, RequestId>, uint64_t> operation_of_;
  // Ignored directives that have been logged; each is logged once.
  std::set<std::string> ignored_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_PUBLISH_PUBLISHING_H_
