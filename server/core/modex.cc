#include "server/core/modex.h"

#include <algorithm>
#include <utility>

#include "common/wire.h"
#include "server/core/kval.h"

namespace canopy::core {
namespace {

// The part of `whole` that `view` points to.
Bytes SliceOf(const Bytes& whole, std::string_view view) {
  return whole.Slice(view.data() - whole.view().data(), view.size());
}

}  // namespace

void ModexWriter::Add(const ProcId& proc, uint64_t version,
                      std::string_view kvals) {
  WireWriter w;
  w.Proc(proc);
  w.Uint(version);
  w.Uint(kvals.size());
  out_ += w.str();
  out_ += kvals;
}

Bytes ModexWriter::Take() { return Bytes(std::exchange(out_, {})); }

bool ModexReader::Next(ProcId* proc, uint64_t* version, Bytes* kvals) {
  WireReader r(bytes_.view().substr(at_));
  if (!ok_ || r.rest().empty()) return false;
  *proc = r.Proc();
  *version = r.Uint();
  const std::string_view data = r.String();
  ok_ = r.ok();
  if (!ok_) return false;
  *kvals = SliceOf(bytes_, data);
  at_ = bytes_.size() - r.rest().size();
  return true;
}

void ModexStore::Merge(RankData* data, const ScopedData& scoped) {
  std::string_view rest = scoped.kvals.view();
  KvalPiece piece;
  while (TakeKval(&rest, &piece)) {
    auto it = data->keys.find(piece.key);
    if (it == data->keys.end()) {
      it = data->keys.emplace(std::string(piece.key), Sides()).first;
    }
    const Bytes kval = SliceOf(scoped.kvals, piece.whole);
    if (scoped.scope != Scope::kRemote) it->second.here = kval;
    if (scoped.scope != Scope::kLocal) it->second.others = kval;
  }
}

void ModexStore::Rebuild(RankData* data) {
  std::string here;
  std::string others;
  data->outside.clear();
  for (const auto& [key, sides] : data->keys) {
    here += sides.here.view();
    others += sides.others.view();
    if (sides.here.empty()) data->outside.push_back(key);
  }
  data->here = Bytes(std::move(here));
  // Most ranks put everything with scope GLOBAL: one copy is enough.
  data->others =
      others == data->here.view() ? data->here : Bytes(std::move(others));
}

bool ModexStore::Commit(TimeNs now, const ProcId& proc,
                        const std::vector<ScopedData>& data) {
  for (const ScopedData& scoped : data) {
    if (!AreKvals(scoped.kvals.view())) return false;
  }
  RankData& rank = jobs_[proc.nspace][proc.rank];
  for (const ScopedData& scoped : data) Merge(&rank, scoped);
  Rebuild(&rank);
  rank.version = std::max(rank.version + 1, static_cast<uint64_t>(now));
  changed_.push_back(proc);
  return true;
}

bool ModexStore::StoreRemote(const ProcId& proc, uint64_t version,
                             const Bytes& kvals) {
  const RankData* old = Find(proc);
  if (old != nullptr &&
      (version < old->version || old->here.view() == kvals.view())) {
    return false;
  }
  if (!AreKvals(kvals.view())) return false;
  RankData& rank = jobs_[proc.nspace][proc.rank];
  rank.remote = true;
  rank.version = version;
  rank.here = kvals;
  std::erase_if(rank.outside, [&](const std::string& key) {
    return HasKey(kvals.view(), key);
  });
  changed_.push_back(proc);
  return true;
}

void ModexStore::NoteOutside(const ProcId& proc, const std::string& key) {
  RankData& rank = jobs_[proc.nspace][proc.rank];
  rank.remote = true;
  const auto at =
      std::lower_bound(rank.outside.begin(), rank.outside.end(), key);
  if (at != rank.outside.end() && *at == key) return;
  rank.outside.insert(at, key);
}

const ModexStore::RankData* ModexStore::Find(const ProcId& proc) const {
  const auto job = jobs_.find(proc.nspace);
  if (job == jobs_.end()) return nullptr;
  const auto rank = job->second.find(proc.rank);
  return rank == job->second.end() ? nullptr : &rank->second;
}

ModexStore::Found ModexStore::FindHere(const ProcId& proc,
                                       std::string_view key) const {
  const RankData* rank = Find(proc);
  if (rank == nullptr) return Found::kNothing;
  if (key.empty()) return Found::kYes;
  if (rank->remote) {
    if (HasKey(rank->here.view(), key)) return Found::kYes;
    return std::binary_search(rank->outside.begin(), rank->outside.end(), key)
               ? Found::kOutside
               : Found::kNo;
  }
  const auto it = rank->keys.find(key);
  if (it == rank->keys.end()) return Found::kNo;
  return it->second.here.empty() ? Found::kOutside : Found::kYes;
}

ModexStore::Found ModexStore::FindForOthers(const ProcId& proc,
                                            std::string_view key) const {
  const RankData* rank = Find(proc);
  if (rank == nullptr || rank->remote) return Found::kNothing;
  if (key.empty()) return Found::kYes;
  const auto it = rank->keys.find(key);
  if (it == rank->keys.end()) return Found::kNo;
  return it->second.others.empty() ? Found::kOutside : Found::kYes;
}

Bytes ModexStore::SeenHere(const ProcId& proc) const {
  const RankData* rank = Find(proc);
  return rank == nullptr ? Bytes() : rank->here;
}

Bytes ModexStore::SeenByOthers(const ProcId& proc) const {
  const RankData* rank = Find(proc);
  return rank == nullptr ? Bytes() : rank->others;
}

uint64_t ModexStore::VersionOf(const ProcId& proc) const {
  const RankData* rank = Find(proc);
  return rank == nullptr ? 0 : rank->version;
}

PublishRank ModexStore::Publication(const ProcId& proc) const {
  const RankData* rank = Find(proc);
  if (rank == nullptr) return {proc, {}, {}};
  return {proc, rank->here, rank->outside};
}

std::optional<Rank> ModexStore::OwnerOf(const std::string& nspace,
                                        std::string_view key) const {
  const auto job = jobs_.find(nspace);
  if (job == jobs_.end()) return std::nullopt;
  for (const auto& [rank, data] : job->second) {
    const auto it = data.keys.find(key);
    if (data.remote ? HasKey(data.here.view(), key)
                    : it != data.keys.end() && !it->second.here.empty()) {
      return rank;
    }
  }
  return std::nullopt;
}

void ModexStore::DropJob(const std::string& nspace) { jobs_.erase(nspace); }

std::vector<ProcId> ModexStore::TakeChanged() {
  return std::exchange(changed_, {});
}

}  // namespace canopy::core
