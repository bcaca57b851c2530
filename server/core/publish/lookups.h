// PMIx_Lookup of local processes: asks the owners of the keys, and collects.
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

// Lookups of one client that are under way; more are refused
// (kErrOutOfResource).
inline constexpr size_t kMaxLookupsOfClient = 1024;

// A lookup as its caller made it. Its searcher's request identifies it.
struct LookupCall {
  ClientId client = 0;
  Searcher searcher;
  std::vector<std::string> keys;
  bool waits = false;
  uint32_t wait_for = 0;    // so many keys; 0: all
  uint32_t timeout_ms = 0;  // 0: none
};

// What ends when it is read is claimed at its steward for this call alone. The
// answer is persisted before the steward is told that it has been read; until
// then a repetition of the call gets it again.
//
// Not synchronised. References outlive it; the tree has been updated before it
// is told of a change.
class Lookups {
 public:
  Lookups(NodeId self, const Tree& tree, const Directory& directory,
          PeerCalls& calls);

  void set_persists(bool persists) { answers_.set_enabled(persists); }

  void Begin(PublishStep& step, LookupCall call);
  void OnFound(PublishStep& step, NodeId src, const DirectoryFound& found);

  // It ends without an answer.
  void OnClientGone(PublishStep& step, ClientId client);
  void OnFinalized(PublishStep& step, const ProcId& proc);
  void OnJobRemoved(PublishStep& step, const std::string& nspace);
  // Keys may have other owners, and messages may have been lost.
  void OnMembersChanged(PublishStep& step);
  void OnTick(PublishStep& step);
  TimeNs NextDeadline() const {
    return deadlines_.empty() ? kNever : deadlines_.begin()->first;
  }

  // Of any call of the process, which may be repeated to a successor.
  void StoreAnswer(PublishStep& step, const ProcId& proc, LookupAnswer answer) {
    answers_.Store(step, proc, std::move(answer));
  }
  // The same of a call that a predecessor has taken, which may come again.
  void KeepAnswer(PublishStep& step, const ProcId& proc,
                  const LookupAnswer& answer) {
    answers_.Keep(step, proc, answer);
  }
  // Of a call that a predecessor has taken; found once.
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
    Publication publication;  // kFound, kClaiming
    // The claim under way; an answer to an earlier one has no effect.
    uint64_t claim = 0;
    uint64_t call = 0;  // its number among the agent's
    // What was claimed in vain, in which version: an owner that does not know
    // yet that it is gone, as after a partition, would name it again and again.
    // A later version may have been given back.
    std::map<PublicationId, uint64_t> refused;
  };
  struct Lookup {
    LookupCall call;
    TimeNs started = 0;
    TimeNs deadline = kNever;
    TimeNs since = 0;  // from when on it counts
    std::map<std::string, Key> keys;
    std::set<NodeId> asked;  // may have it among the lookups that wait there
    uint64_t claims = 0;
  };

  void AskOwners(PublishStep& step, uint64_t number, Lookup& lookup);
  void Ask(PublishStep& step, uint64_t number, Lookup& lookup, NodeId node,
           std::vector<LookupKey> keys);
  void Accept(PublishStep& step, uint64_t number, const Publication& found);
  void OnClaimed(PublishStep& step, uint64_t number, const std::string& key,
                 uint64_t claim, int status);
  // Answers the caller if that is possible now.
  void TryFinish(PublishStep& step, uint64_t number);
  static bool IsComplete(const Lookup& lookup);
  static int StatusOf(const Lookup& lookup);
  void Finish(PublishStep& step, uint64_t number, int status);
  // Null: the client has too many.
  Lookup* Add(TimeNs now, uint64_t number, LookupCall call);
  Lookup Extract(uint64_t number);
  // Its deadline has passed; true: it has a later one.
  bool PutOff(const PublishStep& step, uint64_t number);
  // `countdown`, if there is one, ends when they are ended.
  void EndClaims(PublishStep& step, const Lookup& lookup, bool accepted,
                 const std::shared_ptr<Countdown>& countdown);
  void EndWaiting(PublishStep& step, uint64_t number, const Lookup& lookup);
  // They end without an answer.
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
