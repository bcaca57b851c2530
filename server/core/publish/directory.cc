#include "server/core/publish/directory.h"

#include <algorithm>

#include "common/status.h"
#include "server/core/publish/digest.h"

namespace canopy::core {
namespace {

// Maximum number of lookups and publications that wait at this agent.
constexpr size_t kMaxWaiting = size_t{1} << 20;

bool IsRepetition(const Publication& a, const Publication& b) {
  return a.id.publisher == b.id.publisher && a.request == b.request &&
         a.request != 0;
}

}  // namespace

Directory::Directory(NodeId self, const Tree& tree, PeerCalls& calls)
    : self_(self), tree_(tree), calls_(calls) {
  for (NodeId node = 0; node < tree.size(); ++node) unpulled_.insert(node);
}

void Directory::Answer(PublishStep& step, NodeId to, uint64_t request,
                       int status) {
  step.Send(to, DirectoryAnswer{request, status});
}

// ------------------------------------------------------------- pulling ---

bool Directory::HasAll(PublishStep& step) {
  if (unpulled_.empty()) return true;
  if (pulls_) return false;
  pulls_ = true;
  pull_deadline_ = step.now + kPullPatience;
  const uint64_t round = round_;
  for (const NodeId node : std::set<NodeId>(unpulled_)) {
    pull_requests_.push_back(calls_.Ask(
        step, node, DirectoryPull{}, [this, node, round](PublishStep& s, int) {
          OnPulled(s, node, round);
        }));
  }
  return false;
}

void Directory::OnPulled(PublishStep& step, NodeId node, uint64_t round) {
  if (round != round_ || unpulled_.erase(node) == 0) return;
  if (unpulled_.empty()) Resume(step);
}

void Directory::Resume(PublishStep& step) {
  pulls_ = false;
  pull_deadline_ = kNever;
  for (const auto& [id, store] : std::exchange(stores_, {})) {
    Answer(step, id.first, id.second, TryStore(step, id.first, store));
  }
  std::vector<LookupId> ids;
  for (const auto& [id, lookup] : lookups_) ids.push_back(id);
  for (const LookupId& id : ids) TryAnswer(step, id);
}

void Directory::VoidPulls() {
  ++round_;
  // A healing partition causes many membership changes in a row. If the
  // requests of earlier rounds were kept, each change would send all of them
  // again.
  for (const uint64_t request : std::exchange(pull_requests_, {})) {
    calls_.Forget(request);
  }
  pulls_ = false;
  pull_deadline_ = kNever;
}

void Directory::OnMembersChanged(PublishStep& step) {
  unpulled_.clear();
  for (NodeId node = 0; node < tree_.size(); ++node) {
    if (tree_.alive(node)) unpulled_.insert(node);
  }
  if (num_waiting() > 0) HasAll(step);
}

void Directory::OnTick(PublishStep& step) {
  if (pull_deadline_ > step.now) return;
  unpulled_.clear();
  Resume(step);
}

// -------------------------------------------------------------- storing ---

void Directory::OnStore(PublishStep& step, NodeId src,
                        const DirectoryStore& store) {
  const Publication& p = store.publication;
  const bool must_wait =
      store.is_new && !StaysHere(p) && !all_.contains(p.id) && !HasAll(step);
  if (must_wait && num_waiting() < kMaxWaiting) {
    stores_[{src, store.request}] = store;
    return;
  }
  Answer(step, src, store.request,
         must_wait ? kErrResourceBusy : TryStore(step, src, store));
}

int Directory::TryStore(PublishStep& step, NodeId src,
                        const DirectoryStore& store) {
  const Publication& p = store.publication;
  if (p.steward != src) return kErrBadParam;
  if (WasRemoved(p.id, src)) return kErrNotFound;
  if (all_.contains(p.id)) return Replace(step, p);
  if (store.is_new) {
    const Publication* holder = HolderOf(p);
    if (holder != nullptr && !IsRepetition(*holder, p)) return kErrDuplicateKey;
    if (holder != nullptr) Erase(PublicationId(holder->id));
    if (!quota_.Fits(p)) return kErrOutOfResource;
  }
  Put(p);
  WakeUp(step, p.key);
  return kSuccess;
}

// Two agents may both believe that they are the steward after a loss or a
// partition, so a copy from another agent is accepted only if that agent has
// the better right.
int Directory::Replace(PublishStep& step, const Publication& p) {
  const Publication& present = all_.at(p.id);
  if (present.steward == p.steward) {
    if (p.version < present.version) return kSuccess;
  } else if (tree_.alive(present.steward) &&
             !IsRightSteward(p, present.steward)) {
    return kErrExists;
  }
  Erase(PublicationId(p.id));
  Put(p);
  WakeUp(step, p.key);
  return kSuccess;
}

void Directory::Put(const Publication& p) {
  quota_.Add(p);
  by_key_[p.key].insert(p.id);
  all_.emplace(p.id, p);
}

void Directory::Erase(const PublicationId& id) {
  const auto it = all_.find(id);
  if (it == all_.end()) return;
  quota_.Remove(it->second);
  const auto key = by_key_.find(it->second.key);
  key->second.erase(id);
  if (key->second.empty()) by_key_.erase(key);
  all_.erase(it);
}

const Publication* Directory::HolderOf(const Publication& p) const {
  const auto ids = by_key_.find(p.key);
  if (ids == by_key_.end()) return nullptr;
  for (const PublicationId& id : ids->second) {
    const Publication& other = all_.at(id);
    if (!IsTaken(other) && IsSamePlace(other, p)) return &other;
  }
  return nullptr;
}

// After a partition two agents may believe that they are the steward, so only
// the removal that the rightful steward sends counts.
bool Directory::MayRemove(NodeId src, const PublicationId& id) const {
  const auto it = all_.find(id);
  if (it == all_.end() || it->second.steward == src) return true;
  const NodeId present = it->second.steward;
  Publication other = it->second;
  other.steward = src;
  return !tree_.alive(present) || IsRightSteward(other, present);
}

uint64_t Directory::RemovalDigest(const PublicationId& id, NodeId steward) {
  const ProcId& publisher = id.publisher;
  return DigestOf(DigestOf(HashOf(publisher.nspace), publisher.rank),
                  DigestOf(steward, id.number));
}

void Directory::OnRemove(PublishStep& step, NodeId src,
                         const DirectoryRemove& remove) {
  if (!MayRemove(src, remove.id)) {
    return Answer(step, src, remove.request, kErrNoPermissions);
  }
  if (const auto present = all_.find(remove.id); present != all_.end()) {
    removed_.Add(RemovalDigest(remove.id, present->second.steward));
  }
  Erase(remove.id);
  removed_.Add(RemovalDigest(remove.id, src));
  Answer(step, src, remove.request, kSuccess);
}

// ------------------------------------------------------------ searching ---

Directory::Match Directory::Find(const Searcher& searcher, NodeId node,
                                 std::string_view key) const {
  Match match;
  const auto ids = by_key_.find(key);
  if (ids == by_key_.end()) return match;
  const PublicationReader reader{searcher.proc, searcher.request, node};
  for (const PublicationId& id : ids->second) {
    const Publication& p = all_.at(id);
    if (IsTaken(p) && !IsSameReader(p.reader, reader)) continue;
    const Visibility visibility = VisibilityOf(p, searcher, node);
    match.barred |= visibility == Visibility::kBarred;
    if (visibility != Visibility::kSeen) continue;
    if (match.found == nullptr || ComesBefore(p, *match.found)) {
      match.found = &p;
    }
  }
  match.barred &= match.found == nullptr;
  return match;
}

void Directory::OnLookup(PublishStep& step, NodeId src,
                         const DirectoryLookup& lookup) {
  const LookupId id{src, lookup.request};
  if (ended_.Contains(DigestOf(src, lookup.request))) return;
  Forget(id);
  if (num_waiting() >= kMaxWaiting) {
    DirectoryFound refused{lookup.request, {}, lookup.keys};
    for (LookupKey& key : refused.missing) key.status = kErrResourceBusy;
    return step.Send(src, std::move(refused));
  }
  Await(id, lookup, lookup.keys);
  TryAnswer(step, id);
}

void Directory::OnLookupEnd(PublishStep& step, NodeId src,
                            const DirectoryLookupEnd& end) {
  Forget({src, end.lookup});
  ended_.Add(DigestOf(src, end.lookup));
  Answer(step, src, end.request, kSuccess);
}

// A lookup that does not wait gets one answer for all its keys. A waiting
// lookup may fail to claim the publication that it is offered here, because
// another reader was first. So it stays registered for such keys and is
// notified of the next change.
void Directory::TryAnswer(PublishStep& step, const LookupId& id) {
  const auto it = lookups_.find(id);
  if (it == lookups_.end()) return;
  const DirectoryLookup lookup = it->second;
  DirectoryFound found{lookup.request, {}, {}};
  std::vector<LookupKey> open;
  for (const LookupKey& key : lookup.keys) {
    const Match match = Find(lookup.searcher, id.first, key.key);
    if (match.found == nullptr) {
      found.missing.push_back(
          {key.key, match.barred ? kErrNoPermissions : kErrNotFound});
      open.push_back(found.missing.back());
      continue;
    }
    found.found.push_back(*match.found);
    if (EndsWhenRead(*match.found)) open.push_back(key);
  }
  if (!found.missing.empty() && !HasAll(step) && !lookup.waits) return;
  Forget(id);
  if (lookup.waits) {
    found.missing.clear();
    Await(id, lookup, std::move(open));
    if (found.found.empty()) return;
  }
  step.Send(id.first, std::move(found));
}

void Directory::Await(const LookupId& id, DirectoryLookup lookup,
                      std::vector<LookupKey> keys) {
  if (keys.empty()) return;
  for (const LookupKey& key : keys) lookups_by_key_[key.key].insert(id);
  lookup.keys = std::move(keys);
  lookups_[id] = std::move(lookup);
}

void Directory::WakeUp(PublishStep& step, const std::string& key) {
  const auto ids = lookups_by_key_.find(key);
  if (ids == lookups_by_key_.end()) return;
  for (const LookupId& id : std::set<LookupId>(ids->second)) {
    TryAnswer(step, id);
  }
}

void Directory::Forget(const LookupId& id) {
  const auto it = lookups_.find(id);
  if (it == lookups_.end()) return;
  for (const LookupKey& key : it->second.keys) {
    const auto ids = lookups_by_key_.find(key.key);
    if (ids == lookups_by_key_.end()) continue;
    ids->second.erase(id);
    if (ids->second.empty()) lookups_by_key_.erase(ids);
  }
  lookups_.erase(it);
}

// -------------------------------------------------------------- members ---

std::vector<Publication> Directory::OnNodeLost(PublishStep&, NodeId node) {
  const LookupId first{node, 0};
  while (true) {
    const auto it = lookups_.lower_bound(first);
    if (it == lookups_.end() || it->first.first != node) break;
    Forget(LookupId(it->first));
  }
  std::erase_if(stores_, [&](const auto& s) { return s.first.first == node; });
  std::vector<Publication> orphans;
  std::vector<PublicationId> ended;
  for (const auto& [id, p] : all_) {
    if (p.steward != node) continue;
    if (OutlivesSteward(p)) {
      orphans.push_back(p);
    } else {
      ended.push_back(id);
    }
  }
  for (const PublicationId& id : ended) Erase(id);
  return orphans;
}

void Directory::OnNodeRestarted(PublishStep& step, NodeId node) {
  const LookupId first{node, 0};
  while (true) {
    const auto it = lookups_.lower_bound(first);
    if (it == lookups_.end() || it->first.first != node) break;
    Forget(LookupId(it->first));
  }
  std::erase_if(stores_, [&](const auto& s) { return s.first.first == node; });
  for (const auto& [id, p] : all_) {
    if (p.steward != node) continue;
    calls_.Ask(step, node, DirectoryStore{0, p, false},
               [this, id = id](PublishStep&, int status) {
                 if (status == kErrNotFound) Erase(id);
               });
  }
}

}  // namespace canopy::core
