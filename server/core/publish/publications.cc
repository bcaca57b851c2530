#include "server/core/publish/publications.h"

#include <algorithm>
#include <memory>

#include "common/status.h"
#include "server/core/publish/digest.h"
#include "server/core/publish/rendezvous.h"

namespace canopy::core {
namespace {

bool IsOf(const Publication& p, const std::string& nspace) {
  return p.id.publisher.nspace == nspace;
}

// Returns true if the claim comes from the agent of the reader. An agent may
// claim and return publications only for readers on its own node.
bool IsOf(const PublicationReader& reader, NodeId node,
          const DirectoryClaim& claim) {
  return reader.node == node && IsSameReader(reader, claim.reader);
}

bool EndsWithProcess(const Publication& p) {
  return p.persistence == static_cast<uint8_t>(Persistence::kProc) ||
         p.range == static_cast<uint8_t>(DataRange::kProcLocal);
}

}  // namespace

Publications::Publications(NodeId self, const Tree& tree, const JobTable& jobs,
                           PeerCalls& calls)
    : self_(self), tree_(tree), jobs_(jobs), calls_(calls) {}

Publications::Owned* Publications::FindOwned(const PublicationId& id) {
  const auto it = owned_.find(id);
  return it == owned_.end() ? nullptr : &it->second;
}

const Publication* Publications::Find(const PublicationId& id) const {
  const auto it = owned_.find(id);
  return it == owned_.end() ? nullptr : &it->second.publication;
}

Publications::Owned& Publications::Insert(Publication p, ClientId client) {
  p.steward = self_;
  const PublicationId id = p.id;
  quota_.Add(p);
  if (p.request != 0) {
    Call& call = calls_of_[{id.publisher, p.request}];
    call.client = client;
    ++call.publications;
  }
  Owned& owned = owned_[id];
  owned.publication = std::move(p);
  return owned;
}

void Publications::Erase(const PublicationId& id) {
  const auto it = owned_.find(id);
  if (it == owned_.end()) return;
  quota_.Remove(it->second.publication);
  ForgetCall(it->second.publication);
  owned_.erase(it);
}

void Publications::ForgetCall(const Publication& p) {
  const auto call = calls_of_.find({p.id.publisher, p.request});
  if (call == calls_of_.end()) return;
  if (--call->second.publications == 0) calls_of_.erase(call);
}

bool Publications::IsOfPredecessor(const Publication& p) const {
  const auto call = calls_of_.find({p.id.publisher, p.request});
  return call != calls_of_.end() && call->second.client == 0;
}

NodeId Publications::OwnerOf(const Publication& p) const {
  return StaysHere(p) ? self_ : HomesOf(p.key, tree_).owner;
}

// ------------------------------------------------------------- publishing ---

void Publications::Add(PublishStep& step, ClientId client, Publication p,
                       Adding done) {
  const PublicationId id = p.id;
  Insert(std::move(p), client);
  Offer(step, id, done);
}

void Publications::Offer(PublishStep& step, const PublicationId& id,
                         const Adding& done) {
  Owned& owned = owned_.at(id);
  const NodeId owner = OwnerOf(owned.publication);
  // The owner may hold the publication from the moment this message is sent.
  owned.holders.insert(owner);
  calls_.Ask(step, owner, DirectoryStore{0, owned.publication, true},
             [this, id, owner, done](PublishStep& s, int status) {
               OnOffered(s, id, owner, status, done);
             });
}

// Only the present owner decides whether the key is taken.
void Publications::OnOffered(PublishStep& step, const PublicationId& id,
                             NodeId owner, int status, const Adding& done) {
  Owned* owned = FindOwned(id);
  if (owned == nullptr) return done(step, kErrNotFound);
  // An owner that refused the publication stays in `holders`, because a
  // repetition of the offer may still be under way, and be accepted when the
  // key is free.
  if (status == kErrUnreach) owned->holders.erase(owner);
  if (status == kErrUnreach || OwnerOf(owned->publication) != owner) {
    return Offer(step, id, done);
  }
  owned->accepted = status == kSuccess;
  done(step, status);
}

void Publications::Confirm(PublishStep& step, const PublicationId& id) {
  Owned* owned = FindOwned(id);
  if (owned == nullptr) return;
  owned->confirmed = true;
  Persist(step, *owned);
  CopyAsNeeded(step, *owned);
  for (const auto& [node, claim] : std::exchange(owned->claims, {})) {
    Take(step, node, *owned, claim);
  }
}

void Publications::Persist(PublishStep& step, const Owned& owned) {
  const ProcId& publisher = owned.publication.id.publisher;
  const Job* job = jobs_.Find(publisher.nspace);
  if (job == nullptr || !job->is_local(publisher.rank)) return;
  slots_.Store(step, owned.publication);
}

void Publications::Copy(PublishStep& step, Owned& owned, NodeId to,
                        std::shared_ptr<Countdown> countdown) {
  owned.holders.insert(to);
  if (countdown != nullptr) countdown->Add();
  calls_.Ask(
      step, to, DirectoryStore{0, owned.publication, false},
      [this, id = owned.publication.id, countdown](PublishStep& s, int status) {
        if (status == kErrExists || status == kErrNotFound) Yield(id);
        if (countdown != nullptr) countdown->End(s);
      });
}

// Gives up the publication, because another agent is the steward or has removed
// it.
void Publications::Yield(const PublicationId& id) {
  const Owned* owned = FindOwned(id);
  if (owned != nullptr && owned->publication.home != self_) Erase(id);
}

std::set<NodeId> Publications::CopiesOf(const Owned& owned) const {
  if (!owned.confirmed || StaysHere(owned.publication) ||
      !OutlivesJob(owned.publication)) {
    return {};
  }
  const KeyHomes homes = HomesOf(owned.publication.key, tree_);
  std::set<NodeId> nodes{homes.owner, homes.second};
  nodes.erase(self_);
  nodes.erase(kNoNode);
  return nodes;
}

std::set<NodeId> Publications::HoldersOf(const Owned& owned) const {
  std::set<NodeId> nodes = CopiesOf(owned);
  nodes.insert(owned.holders.begin(), owned.holders.end());
  nodes.insert(OwnerOf(owned.publication));
  // This agent's own directory records the removal, which rejects late copies.
  nodes.insert(self_);
  return nodes;
}

void Publications::CopyAsNeeded(PublishStep& step, Owned& owned) {
  for (const NodeId node : CopiesOf(owned)) {
    if (!owned.holders.contains(node)) Copy(step, owned, node, nullptr);
  }
}

void Publications::EnsureCopies(PublishStep& step) {
  for (auto& [id, owned] : owned_) CopyAsNeeded(step, owned);
}

// --------------------------------------------------------------- removing ---

void Publications::Remove(PublishStep& step, const Ids& ids, Done done) {
  // The record is cleared last. A successor that still finds it removes the
  // publication again; without the record it would report the removal as done
  // while a holder still has a copy.
  const auto countdown =
      Countdown::Begin([this, ids, done = std::move(done)](PublishStep& s) {
        for (const PublicationId& id : ids) slots_.Clear(s, id);
        done(s);
      });
  for (const PublicationId& id : ids) {
    const Owned* owned = FindOwned(id);
    if (owned == nullptr) continue;
    for (const NodeId holder : HoldersOf(*owned)) {
      countdown->Add();
      calls_.Ask(step, holder, DirectoryRemove{0, id},
                 [countdown](PublishStep& s, int) { countdown->End(s); });
    }
    for (const auto& [node, claim] : owned->claims) {
      step.Send(node, DirectoryAnswer{claim.request, kErrNotFound});
    }
    Erase(id);
  }
  countdown->End(step);
}

void Publications::RemoveIf(
    PublishStep& step, const std::function<bool(const Publication&)>& ends) {
  Ids ids;
  for (const auto& [id, owned] : owned_) {
    if (ends(owned.publication)) ids.push_back(id);
  }
  Remove(step, ids, [](PublishStep&) {});
}

Publications::Ids Publications::Of(const ProcId& publisher) const {
  Ids ids;
  for (auto it = owned_.lower_bound({publisher, 0});
       it != owned_.end() && it->first.publisher == publisher; ++it) {
    ids.push_back(it->first);
  }
  return ids;
}

bool Publications::WasExecuted(const ProcId& publisher, uint64_t request,
                               ClientId client) const {
  const auto it = calls_of_.find({publisher, request});
  if (it == calls_of_.end()) return false;
  const ClientId caller = it->second.client;
  return caller == 0 || caller == client || jobs_.ProcOf(caller) == nullptr;
}

void Publications::OnFinalized(PublishStep& step, const ProcId& publisher) {
  for (const PublicationId& id : Of(publisher)) {
    Owned& owned = owned_.at(id);
    if (owned.publication.request == 0) continue;
    ForgetCall(owned.publication);
    owned.publication.request = 0;
    if (owned.confirmed) Persist(step, owned);
  }
}

void Publications::OnRankEnded(PublishStep& step, const ProcId& publisher) {
  Ids ids = Of(publisher);
  std::erase_if(ids, [&](const PublicationId& id) {
    return !EndsWithProcess(owned_.at(id).publication);
  });
  Remove(step, ids, [](PublishStep&) {});
}

void Publications::OnToolGone(PublishStep& step, const ProcId& publisher) {
  RemoveIf(step, [&](const Publication& p) {
    return p.id.publisher == publisher && (!OutlivesJob(p) || IsTaken(p));
  });
}

void Publications::OnJobRemoved(PublishStep& step, const std::string& nspace) {
  slots_.OnJobRemoved(nspace);
  RemoveIf(step, [&](const Publication& p) {
    return IsOf(p, nspace) && (!OutlivesJob(p) || IsTaken(p));
  });
}

size_t Publications::num_of_jobs() const {
  return static_cast<size_t>(std::ranges::count_if(owned_, [](const auto& o) {
    return !OutlivesJob(o.second.publication);
  }));
}

// ----------------------------------------------------------------- claims ---

void Publications::OnClaim(PublishStep& step, NodeId src,
                           const DirectoryClaim& claim) {
  Owned* owned = FindOwned(claim.id);
  if (owned == nullptr) {
    const bool takes = claim.kind == ClaimKind::kTake;
    return step.Send(
        src, DirectoryAnswer{claim.request, takes ? kErrNotFound : kSuccess});
  }
  if (claim.kind == ClaimKind::kTake) {
    Take(step, src, *owned, claim);
  } else {
    EndClaim(step, src, *owned, claim);
  }
}

// The claim is answered after all holders have recorded the reader, so that a
// loss of this agent cannot give the publication to a second reader.
void Publications::Take(PublishStep& step, NodeId src, Owned& owned,
                        const DirectoryClaim& claim) {
  if (ended_claims_.Contains(DigestOf(src, claim.request))) {
    return step.Send(src, DirectoryAnswer{claim.request, kErrNotFound});
  }
  owned.claims.emplace_back(src, claim);
  if (!owned.confirmed) return;
  if (IsTaken(owned.publication)) {
    if (owned.settling == 0) AnswerClaims(step, claim.id);
    return;
  }
  owned.publication.reader = claim.reader;
  owned.publication.reader.node = src;
  owned.taken = {src, claim.request};
  Settle(step, owned);
}

void Publications::Settle(PublishStep& step, Owned& owned) {
  const PublicationId id = owned.publication.id;
  ++owned.publication.version;
  ++owned.settling;
  if (owned.confirmed) Persist(step, owned);
  const auto countdown = Countdown::Begin([this, id](PublishStep& s) {
    Owned* settled = FindOwned(id);
    if (settled != nullptr && --settled->settling == 0) AnswerClaims(s, id);
  });
  // This agent may have recovered the publication, and `holders` does not yet
  // include the owner to which its predecessor has sent it.
  std::set<NodeId> holders = owned.holders;
  holders.insert(OwnerOf(owned.publication));
  for (const NodeId holder : holders) Copy(step, owned, holder, countdown);
  countdown->End(step);
}

void Publications::AnswerClaims(PublishStep& step, const PublicationId& id) {
  Owned& owned = owned_.at(id);
  for (const auto& [node, claim] : std::exchange(owned.claims, {})) {
    const bool has_it = IsOf(owned.publication.reader, node, claim);
    if (!has_it) ended_claims_.Add(DigestOf(node, claim.request));
    step.Send(node,
              DirectoryAnswer{claim.request, has_it ? kSuccess : kErrNotFound});
  }
}

void Publications::EndClaim(PublishStep& step, NodeId src, Owned& owned,
                            const DirectoryClaim& claim) {
  const uint64_t request = claim.request;
  if (IsOf(owned.publication.reader, src, claim)) {
    if (claim.kind == ClaimKind::kFinish) {
      if (owned.publication.request != 0 && on_read_) {
        on_read_(step, owned.publication, IsOfPredecessor(owned.publication));
      }
      return Remove(step, {claim.id}, [src, request](PublishStep& s) {
        s.Send(src, DirectoryAnswer{request, kSuccess});
      });
    }
    owned.publication.reader = {};
    ended_claims_.Add(DigestOf(owned.taken.first, owned.taken.second));
    Settle(step, owned);
  }
  if (claim.kind == ClaimKind::kReturn) {
    std::erase_if(owned.claims, [&](const auto& queued) {
      if (queued.first != src ||
          !IsSameReader(queued.second.reader, claim.reader)) {
        return false;
      }
      ended_claims_.Add(DigestOf(src, queued.second.request));
      step.Send(queued.first,
                DirectoryAnswer{queued.second.request, kErrNotFound});
      return true;
    });
  }
  step.Send(src, DirectoryAnswer{request, kSuccess});
}

// ---------------------------------------------------------- other agents ---

void Publications::OnPull(PublishStep& step, NodeId src,
                          const DirectoryPull& pull) {
  const uint64_t request = pull.request;
  const auto countdown = Countdown::Begin([src, request](PublishStep& s) {
    s.Send(src, DirectoryAnswer{request, kSuccess});
  });
  for (auto& [id, owned] : owned_) {
    const Publication& p = owned.publication;
    if (!owned.accepted) continue;
    if (StaysHere(p) ? src != self_ : !IsOwner(src, p.key, tree_)) continue;
    Copy(step, owned, src, countdown);
  }
  countdown->End(step);
}

void Publications::OnReturned(PublishStep& step, NodeId src,
                              const DirectoryStore& store) {
  int status = kSuccess;
  if (Owned* owned = FindOwned(store.publication.id)) {
    Copy(step, *owned, src, nullptr);
  } else if (OutlivesJob(store.publication) &&
             jobs_.Find(store.publication.id.publisher.nspace) == nullptr) {
    Adopt(step, store.publication);
    owned_.at(store.publication.id).holders.insert(src);
  } else {
    status = kErrNotFound;
  }
  step.Send(src, DirectoryAnswer{store.request, status});
}

void Publications::OnOtherSteward(const Publication& p) {
  if (p.steward != self_ && IsRightSteward(p, self_)) {
    Erase(PublicationId(p.id));
  }
}

void Publications::Adopt(PublishStep& step, Publication p) {
  if (owned_.contains(p.id)) return;
  ++p.version;
  p.request = 0;
  Owned& owned = Insert(std::move(p), 0);
  owned.accepted = owned.confirmed = true;
  owned.holders.insert(self_);
  Copy(step, owned, self_, nullptr);
  CopyAsNeeded(step, owned);
}

void Publications::OnNodeLost(PublishStep& step, NodeId node) {
  for (auto& [id, owned] : owned_) owned.holders.erase(node);
  RemoveIf(step, [&](const Publication& p) {
    return IsTaken(p) && p.reader.node == node;
  });
}

void Publications::OnNodeRestarted(PublishStep& step, NodeId node) {
  for (auto& [id, owned] : owned_) {
    if (CopiesOf(owned).contains(node)) Copy(step, owned, node, nullptr);
  }
}

// -------------------------------------------------------------- recovery ---

void Publications::Recover(PublishStep& step, const std::string& nspace,
                           const PersistedRecord& record) {
  std::optional<Publication> p = slots_.Recover(nspace, record);
  if (!p || owned_.contains(p->id)) return;
  p->home = self_;
  Owned& owned = Insert(*std::move(p), 0);
  owned.accepted = owned.confirmed = true;
  if (StaysHere(owned.publication)) Copy(step, owned, self_, nullptr);
}

}  // namespace canopy::core
