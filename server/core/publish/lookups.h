// PMIx_Lookup of local processes: sends requests to the owners of the keys and
// collects their answers.
#ifndef CANOPY_SERVER_CORE_PUBLISH_LOOKUPS_H_
#define CANOPY_SERVER_CORE_PUBLISH_LOOKUPS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/bytes.h"
#include "common/ids.h"
#include "server/core/messages.h"
#include "server/core/publish/directory.h"
#include "server/core/publish/lookup_answers.h"
#include "server/core/publish/peer_calls.h"
#include "server/core/publish/publish_step.h"
#include "server/core/step/client_id.h"
#include "server/core/step/clock.h"
#include "server/core/tree.h"
#include "server/core/why.h"

namespace canopy::core {

// Maximum number of pending lookups of one client; more fail with
// kErrOutOfResource.
inline constexpr size_t kMaxLookupsOfClient = 1024;

// The arguments of one lookup. `searcher.request` identifies the call.
struct LookupCall {
  ClientId client = 0;
  Searcher searcher;
  std::vector<std::string> keys;
  bool waits = false;
  uint32_t wait_for = 0;    // number of keys that suffice; 0: all
  uint32_t timeout_ms = 0;  // 0: none
};

// A publication that ends when it is read (PMIX_PERSIST_FIRST_READ) is reserved
// by a claim at its steward, for this one call. This agent persists the answer
// before it reports the publication as read, so a repetition of the call to a
// successor gets the same answer, and no other call gets the publication.
//
// Not synchronised. The references passed to the constructor outlive this
// object. The caller updates the tree before it reports a membership change.
// Times are in nanoseconds.
class Lookups {
 public:
  Lookups(NodeId self, const Tree& tree, const Directory& directory,
          PeerCalls& calls);

  void set_persists(bool persists) { answers_.set_enabled(persists); }

  // Begins the lookup. The client is answered in this step or a later one.
  void Begin(PublishStep& step, LookupCall call);
  void OnFound(PublishStep& step, NodeId src, const DirectoryFound& found);

  // Drops the client's lookups without an answer.
  void OnClientGone(PublishStep& step, ClientId client);
  void OnFinalized(PublishStep& step, const ProcId& proc);
  void OnJobRemoved(PublishStep& step, const std::string& nspace);
  // Sends the requests again, because keys may have other owners, and messages
  // may have been lost.
  void OnMembersChanged(PublishStep& step);
  void OnTick(PublishStep& step);
  TimeNs NextDeadline() const {
    return deadlines_.empty() ? kNever : deadlines_.begin()->first;
  }

  // Persists the answer to any call that the process may repeat to a successor.
  void StoreAnswer(PublishStep& step, const ProcId& proc, LookupAnswer answer) {
    answers_.Store(step, proc, std::move(answer));
  }
  // Like StoreAnswer, for a call that a predecessor received, and that the
  // process may repeat to this agent.
  void KeepAnswer(PublishStep& step, const ProcId& proc,
                  const LookupAnswer& answer) {
    answers_.Keep(step, proc, answer);
  }
  // Removes and returns the answer to a call that a predecessor received; no
  // value if there is none.
  std::optional<LookupAnswer> TakeAnswer(const ProcId& proc, uint64_t request) {
    return answers_.Take(proc, request);
  }
  void Recover(const std::string& nspace, const PersistedRecord& record) {
    answers_.Recover(nspace, record);
  }
  void Describe(TimeNs now, const std::string& nspace,
                std::vector<Waiting>* out) const;
  size_t size() const { return lookups_.size(); }

 private:
  enum class State : uint8_t { kUnknown, kClaiming, kFound, kMissing, kBarred };
  struct Key {
    State state = State::kUnknown;
    Publication publication;  // set in kFound and kClaiming
    // Number of the claim in progress; answers to earlier claims are ignored.
    uint64_t claim = 0;
    uint64_t call = 0;  // number of the claim's request in calls_
    // Claims that failed, with the publication's version. An owner that has not
    // yet learnt that a publication is gone (as after a partition) would
    // otherwise offer the same version for ever. A later version is claimed
    // again, because the reader that won may have returned the publication.
    std::map<PublicationId, uint64_t> refused;
  };
  struct Lookup {
    LookupCall call;
    TimeNs started = 0;
    TimeNs deadline = kNever;
    TimeNs since = 0;  // time from which the timeout counts
    std::map<std::string, Key> keys;
    std::set<NodeId> asked;  // agents that may have registered it as waiting
    uint64_t claims = 0;
  };

  void AskOwners(PublishStep& step, uint64_t number, Lookup& lookup);
  void Ask(PublishStep& step, uint64_t number, Lookup& lookup, NodeId node,
           std::vector<LookupKey> keys);
  void Accept(PublishStep& step, uint64_t number, const Publication& found);
  void OnClaimed(PublishStep& step, uint64_t number, const std::string& key,
                 uint64_t claim, int status);
  // Replies to the caller if everything that the reply needs is known.
  void TryFinish(PublishStep& step, uint64_t number);
  static bool IsComplete(const Lookup& lookup);
  static int StatusOf(const Lookup& lookup);
  void Finish(PublishStep& step, uint64_t number, int status);
  // Adds a lookup. Returns null if the client has too many lookups.
  Lookup* Add(TimeNs now, uint64_t number, LookupCall call);
  Lookup Extract(uint64_t number);
  // Postpones the deadline if a debugger has stopped the job. Returns false if
  // the deadline has really expired.
  bool PutOff(const PublishStep& step, uint64_t number);
  // Ends all claims: those that found their publication are finished if the
  // lookup's answer was accepted, and all others are returned. If `countdown`
  // is not null, each claim takes part in it until the claim is answered.
  void EndClaims(PublishStep& step, const Lookup& lookup, bool accepted,
                 const std::shared_ptr<Countdown>& countdown);
  void EndWaiting(PublishStep& step, uint64_t number, const Lookup& lookup);
  // Ends these lookups without an answer.
  void Drop(PublishStep& step, const std::set<uint64_t>& numbers);

  const NodeId self_;
  const Tree& tree_;
  const Directory& directory_;
  PeerCalls& calls_;
  LookupAnswers answers_;
  std::map<uint64_t, Lookup> lookups_;
  std::set<std::pair<TimeNs, uint64_t>> deadlines_;
  std::map<ClientId, std::set<uint64_t>> by_client_;
};

}  // namespace canopy::core

#endif  // CANOPY_SERVER_CORE_PUBLISH_LOOKUPS_H_
