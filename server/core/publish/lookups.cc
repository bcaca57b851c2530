#include "server/core/publish/lookups.h"

#include <algorithm>
#include <optional>

#include "common/codec/encoder.h"
#include "common/status.h"
#include "common/time_units.h"
#include "server/core/publish/publication.h"
#include "server/core/publish/rendezvous.h"

namespace canopy::core {
namespace {

// Maximum number of keys that Describe names; it only counts the others.
constexpr size_t kMaxNamed = 8;

// Returns the payload of an answer: SIZE n, then n PDATA.
template <typename Keys, typename IsFound>
Bytes PayloadOf(const Keys& keys, const IsFound& is_found) {
  Encoder out;
  out.PutSize(static_cast<size_t>(std::ranges::count_if(keys, is_found)));
  for (const auto& entry : keys) {
    if (!is_found(entry)) continue;
    out.PutProc(entry.second.publication.id.publisher);
    out.PutString(entry.first);
    out.PutRaw(entry.second.publication.value.view());
  }
  return Bytes(out.Take());
}

}  // namespace

Lookups::Lookups(NodeId self, const Tree& tree, const Directory& directory,
                 PeerCalls& calls)
    : self_(self), tree_(tree), directory_(directory), calls_(calls) {}

// ---------------------------------------------------------------- asking ---

void Lookups::Begin(PublishStep& step, LookupCall call) {
  const ClientId client = call.client;
  const uint64_t request = call.searcher.request;
  if (const auto answer = answers_.Take(call.searcher.proc, request)) {
    return step.Reply(client, request, answer->status, answer->payload);
  }
  const uint64_t number = calls_.NextNumber();
  Lookup* added = Add(step.now, number, std::move(call));
  if (added == nullptr) return step.Reply(client, request, kErrOutOfResource);
  Lookup& lookup = *added;
  // Keys that this agent owns are looked up without a message.
  for (const auto& [key, state] : lookup.keys) {
    const auto match = directory_.Find(lookup.call.searcher, self_, key);
    if (match.found == nullptr) continue;
    const bool is_owner = HomesOf(key, tree_).owner == self_;
    if (is_owner || StaysHere(*match.found)) Accept(step, number, *match.found);
  }
  AskOwners(step, number, lookup);
  TryFinish(step, number);
}

Lookups::Lookup* Lookups::Add(TimeNs now, uint64_t number, LookupCall call) {
  std::set<uint64_t>& of_client = by_client_[call.client];
  if (of_client.size() >= kMaxLookupsOfClient) return nullptr;
  of_client.insert(number);
  Lookup& lookup = lookups_[number];
  lookup.started = now;
  lookup.since = now;
  if (call.timeout_ms != 0) {
    lookup.deadline = now + call.timeout_ms * kNsPerMs;
    deadlines_.emplace(lookup.deadline, number);
  }
  for (const std::string& key : call.keys) lookup.keys[key];
  lookup.call = std::move(call);
  return &lookup;
}

Lookups::Lookup Lookups::Extract(uint64_t number) {
  Lookup lookup = std::move(lookups_.extract(number).mapped());
  deadlines_.erase({lookup.deadline, number});
  const auto of_client = by_client_.find(lookup.call.client);
  of_client->second.erase(number);
  if (of_client->second.empty()) by_client_.erase(of_client);
  return lookup;
}

void Lookups::AskOwners(PublishStep& step, uint64_t number, Lookup& lookup) {
  std::map<NodeId, std::vector<LookupKey>> by_owner;
  for (const auto& [key, state] : lookup.keys) {
    if (state.state != State::kUnknown) continue;
    const NodeId owner = HomesOf(key, tree_).owner;
    by_owner[owner].push_back({key, 0});
    // The owner does not know publications of node range; a waiting lookup is
    // registered in this node's own directory for them.
    if (lookup.call.waits && owner != self_)
      by_owner[self_].push_back({key, 0});
  }
  for (auto& [node, keys] : by_owner) {
    Ask(step, number, lookup, node, std::move(keys));
  }
}

void Lookups::Ask(PublishStep& step, uint64_t number, Lookup& lookup,
                  NodeId node, std::vector<LookupKey> keys) {
  lookup.asked.insert(node);
  step.Send(node, DirectoryLookup{number, lookup.call.searcher, std::move(keys),
                                  lookup.call.waits});
}

void Lookups::OnFound(PublishStep& step, NodeId src,
                      const DirectoryFound& found) {
  const auto it = lookups_.find(found.request);
  if (it == lookups_.end() || !it->second.asked.contains(src)) return;
  for (const Publication& p : found.found) Accept(step, found.request, p);
  for (const LookupKey& missing : found.missing) {
    // Skips this answer if another agent has become the owner meanwhile,
    // because a request was sent to the new owner, too.
    if (HomesOf(missing.key, tree_).owner != src) continue;
    const auto key = it->second.keys.find(missing.key);
    if (key == it->second.keys.end() || key->second.state != State::kUnknown) {
      continue;
    }
    const bool failed =
        missing.status != kErrNotFound && missing.status != kErrNoPermissions;
    if (failed) return Finish(step, found.request, missing.status);
    key->second.state =
        missing.status == kErrNoPermissions ? State::kBarred : State::kMissing;
  }
  TryFinish(step, found.request);
}

void Lookups::Accept(PublishStep& step, uint64_t number, const Publication& p) {
  Lookup& lookup = lookups_.at(number);
  const auto it = lookup.keys.find(p.key);
  if (it == lookup.keys.end() || it->second.state != State::kUnknown) return;
  Key& key = it->second;
  const auto refused = key.refused.find(p.id);
  if (refused != key.refused.end() && p.version <= refused->second) {
    if (!lookup.call.waits) key.state = State::kMissing;
    return;
  }
  key.publication = p;
  key.state = State::kFound;
  if (!EndsWhenRead(p)) return;
  key.state = State::kClaiming;
  key.claim = ++lookup.claims;
  const PublicationReader reader{lookup.call.searcher.proc,
                                 lookup.call.searcher.request, self_};
  key.call = calls_.Ask(step, p.steward,
                        DirectoryClaim{0, p.id, reader, ClaimKind::kTake},
                        [this, number, name = p.key, claim = key.claim](
                            PublishStep& s, int status) {
                          OnClaimed(s, number, name, claim, status);
                        });
}

// After a failed claim, the key is looked up again. If another reader has won
// the publication, the owner may have another publication of the same key.
void Lookups::OnClaimed(PublishStep& step, uint64_t number,
                        const std::string& name, uint64_t claim, int status) {
  const auto it = lookups_.find(number);
  if (it == lookups_.end()) return;
  Key& key = it->second.keys.at(name);
  if (key.state != State::kClaiming || key.claim != claim) return;
  if (status == kSuccess) {
    key.state = State::kFound;
    return TryFinish(step, number);
  }
  key.refused[key.publication.id] = key.publication.version;
  key.publication = {};
  key.state = State::kUnknown;
  AskOwners(step, number, it->second);
}

// -------------------------------------------------------------- finishing ---

bool Lookups::IsComplete(const Lookup& lookup) {
  size_t found = 0;
  size_t open = 0;
  for (const auto& [name, key] : lookup.keys) {
    found += key.state == State::kFound ? 1 : 0;
    open += key.state == State::kUnknown || key.state == State::kClaiming;
  }
  const bool enough = lookup.call.waits && lookup.call.wait_for != 0 &&
                      found >= lookup.call.wait_for;
  return open == 0 || enough;
}

int Lookups::StatusOf(const Lookup& lookup) {
  size_t found = 0;
  size_t barred = 0;
  for (const auto& [name, key] : lookup.keys) {
    found += key.state == State::kFound ? 1 : 0;
    barred += key.state == State::kBarred ? 1 : 0;
  }
  if (found == lookup.keys.size()) return kSuccess;
  if (found > 0) return kErrPartialSuccess;
  return barred == lookup.keys.size() ? kErrNoPermissions : kErrNotFound;
}

void Lookups::TryFinish(PublishStep& step, uint64_t number) {
  const auto it = lookups_.find(number);
  if (it == lookups_.end() || !IsComplete(it->second)) return;
  Finish(step, number, StatusOf(it->second));
}

void Lookups::Finish(PublishStep& step, uint64_t number, int status) {
  const Lookup lookup = Extract(number);
  const bool found = status == kSuccess || status == kErrPartialSuccess;
  EndWaiting(step, number, lookup);
  Bytes payload;
  if (found) {
    payload = PayloadOf(lookup.keys, [](const auto& entry) {
      return entry.second.state == State::kFound;
    });
    const bool ends_some = std::ranges::any_of(lookup.keys, [](const auto& e) {
      return e.second.state == State::kFound &&
             EndsWhenRead(e.second.publication);
    });
    const Searcher& searcher = lookup.call.searcher;
    if (ends_some) {
      answers_.Store(step, searcher.proc, {searcher.request, status, payload});
    }
  }
  const ClientId client = lookup.call.client;
  const RequestId request = lookup.call.searcher.request;
  if (found) {
    EndClaims(step, lookup, true, nullptr);
    return step.Reply(client, request, status, std::move(payload));
  }
  // Claims must be returned before the caller gets the failure. If the call is
  // repeated to a successor instead, the successor obtains the same claims and
  // returns them; no other agent would.
  const auto countdown =
      Countdown::Begin([client, request, status](PublishStep& s) {
        s.Reply(client, request, status);
      });
  EndClaims(step, lookup, false, countdown);
  countdown->End(step);
}

void Lookups::EndClaims(PublishStep& step, const Lookup& lookup, bool accepted,
                        const std::shared_ptr<Countdown>& countdown) {
  const PublicationReader reader{lookup.call.searcher.proc,
                                 lookup.call.searcher.request, self_};
  for (const auto& [name, key] : lookup.keys) {
    const bool has_it = key.state == State::kFound;
    if (!has_it && key.state != State::kClaiming) continue;
    if (!EndsWhenRead(key.publication)) continue;
    // A pending claim must not be sent again after the publication was
    // returned, because it would reserve the publication for good.
    if (!has_it) calls_.Forget(key.call);
    const ClaimKind kind =
        accepted && has_it ? ClaimKind::kFinish : ClaimKind::kReturn;
    calls_.Ask(step, key.publication.steward,
               DirectoryClaim{0, key.publication.id, reader, kind},
               [countdown](PublishStep& s, int) {
                 if (countdown != nullptr) countdown->End(s);
               });
    if (countdown != nullptr) countdown->Add();
  }
}

void Lookups::EndWaiting(PublishStep& step, uint64_t number,
                         const Lookup& lookup) {
  if (!lookup.call.waits) return;
  for (const NodeId node : lookup.asked) {
    if (!tree_.alive(node)) continue;
    calls_.Ask(step, node, DirectoryLookupEnd{0, number},
               [](PublishStep&, int) {});
  }
}

// ---------------------------------------------------------------- changes ---

void Lookups::Drop(PublishStep& step, const std::set<uint64_t>& numbers) {
  for (const uint64_t number : numbers) {
    const Lookup lookup = Extract(number);
    EndWaiting(step, number, lookup);
    EndClaims(step, lookup, false, nullptr);
  }
}

void Lookups::OnClientGone(PublishStep& step, ClientId client) {
  const auto it = by_client_.find(client);
  if (it != by_client_.end()) Drop(step, std::set<uint64_t>(it->second));
}

void Lookups::OnFinalized(PublishStep& step, const ProcId& proc) {
  answers_.Clear(step, proc);
}

void Lookups::OnJobRemoved(PublishStep& step, const std::string& nspace) {
  answers_.OnJobRemoved(nspace);
  std::set<uint64_t> numbers;
  for (const auto& [number, lookup] : lookups_) {
    if (lookup.call.searcher.proc.nspace == nspace) numbers.insert(number);
  }
  Drop(step, numbers);
}

void Lookups::OnMembersChanged(PublishStep& step) {
  for (auto& [number, lookup] : lookups_) AskOwners(step, number, lookup);
}

void Lookups::OnTick(PublishStep& step) {
  while (NextDeadline() <= step.now) {
    const uint64_t number = deadlines_.begin()->second;
    if (!PutOff(step, number)) Finish(step, number, kErrTimeout);
  }
}

// The process that would publish the key may be stopped by the same debugger as
// the caller, so the timeout does not run meanwhile.
bool Lookups::PutOff(const PublishStep& step, uint64_t number) {
  Lookup& lookup = lookups_.at(number);
  const TimeNs due = step.holds.DueAt(step.now, lookup.since, lookup.deadline,
                                      lookup.call.searcher.proc.nspace);
  if (due <= step.now) return false;
  deadlines_.erase({lookup.deadline, number});
  deadlines_.emplace(due, number);
  lookup.deadline = due;
  lookup.since = step.now;
  return true;
}

void Lookups::Describe(TimeNs now, const std::string& nspace,
                       std::vector<Waiting>* out) const {
  for (const auto& [number, lookup] : lookups_) {
    const std::string& own = lookup.call.searcher.proc.nspace;
    if (!nspace.empty() && own != nspace) continue;
    Waiting waiting;
    waiting.nspace = own;
    waiting.operation = "lookup of";
    size_t open = 0;
    for (const auto& [name, key] : lookup.keys) {
      if (key.state == State::kFound || ++open > kMaxNamed) continue;
      waiting.operation += (open == 1 ? " '" : ", '") + name + "'";
    }
    if (open > kMaxNamed) {
      waiting.operation += " and " + std::to_string(open - kMaxNamed) + " more";
    }
    waiting.age_ms = static_cast<uint64_t>(now - lookup.started) / kNsPerMs;
    waiting.callers = 1;
    out->push_back(std::move(waiting));
  }
}

}  // namespace canopy::core
