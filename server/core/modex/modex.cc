#include "server/core/modex/modex.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "common/codec/stored_key.h"
#include "common/describe_procs.h"
#include "common/slice.h"
#include "server/core/modex/kval.h"

namespace canopy::core {
namespace {

// Stands for an unknown version of a predecessor's data. Any known version is
// higher.
constexpr uint64_t kRestored = 1;

// Limit, in bytes, of the unmerged updates of a remote rank beyond the size of
// its data.
constexpr size_t kMaxNews = 64 << 10;

// Up to this size in bytes, searching a remote rank's data is faster than
// making an index.
constexpr size_t kMaxScanned = 4 << 10;

// Returns `piece` as a slice of `whole`, or as a copy if the slice would keep
// much more memory than it needs. That is so if most of `whole` is known
// already.
Bytes PieceOf(const Bytes& whole, std::string_view piece) {
  if (2 * piece.size() > whole.size()) return SliceOf(whole, piece);
  return Bytes(std::string(piece));
}

// Returns true if a key that a local rank has put has no KVAL for ranks of this
// node. A stored name never counts as outside.
bool IsOutside(std::string_view key, const Bytes& here) {
  return here.empty() && !IsStoredName(key);
}

// Returns `kvals` with the values of `changes` in place of the values that they
// replace.
Bytes Changed(std::string_view kvals, std::string_view changes) {
  std::unordered_set<std::string_view> replaced;
  std::string_view rest = changes;
  KvalPiece piece;
  while (TakeKval(&rest, &piece)) replaced.insert(piece.key);
  std::string out;
  out.reserve(kvals.size() + changes.size());
  while (TakeKval(&kvals, &piece)) {
    if (!replaced.contains(piece.key)) out += piece.whole;
  }
  out += changes;
  return Bytes(std::move(out));
}

// Returns `kvals` followed by the qualified values that only `known` has.
Bytes WithQualified(const Bytes& kvals, const Bytes& known) {
  std::unordered_set<std::string_view> names;
  KvalPiece piece;
  std::string_view rest = kvals.view();
  while (TakeKval(&rest, &piece)) {
    if (IsQualifiedName(piece.key)) names.insert(piece.key);
  }
  std::string lacking;
  rest = known.view();
  while (TakeKval(&rest, &piece)) {
    if (IsQualifiedName(piece.key) && !names.contains(piece.key)) {
      lacking += piece.whole;
    }
  }
  if (lacking.empty()) return kvals;
  return Bytes(std::string(kvals.view()).append(lacking));
}

// A rank's update is an element of a repeated field, so the data of several
// nodes are joined by appending.
constexpr uint32_t kUpdateField = 1;
constexpr uint32_t kKvalsField = 4;

struct UpdateHead {
  ProcView proc;
  uint64_t base = 0;
  uint64_t version = 0;
};

template <typename V>
void Describe(V& v, wire::Is<UpdateHead> auto& m) {
  v.Field(1, m.proc);
  v.Field(2, m.base);
  v.Field(3, m.version);
}

struct UpdateView {
  UpdateHead head;
  std::string_view kvals;
};

template <typename V>
void Describe(V& v, wire::Is<UpdateView> auto& m) {
  Describe(v, m.head);
  v.Field(kKvalsField, m.kvals);
}

}  // namespace

void ModexWriter::Add(const RankUpdate& update) {
  const UpdateHead head{
      {update.proc.nspace, update.proc.rank}, update.base, update.version};
  const size_t size = wire::SizeOf(head);
  const size_t kvals = update.kvals.size();
  const size_t whole =
      size + wire::Writer::HeadSize(kKvalsField, kvals) + kvals;
  const size_t at = out_.size();
  out_.resize(at + wire::Writer::HeadSize(kUpdateField, whole) + whole - kvals);
  wire::Writer writer(out_.data() + at);
  writer.Head(kUpdateField, whole);
  Describe(writer, head);
  writer.Head(kKvalsField, kvals);
  out_ += update.kvals.view();
}

Bytes ModexWriter::Take() { return Bytes(std::exchange(out_, {})); }

bool ModexReader::Next(RankUpdate* update) {
  wire::Input in(bytes_.view().substr(at_));
  if (!ok_ || in.done()) return false;
  ok_ = in.Tag() == wire::Tag(kUpdateField, wire::kLength);
  UpdateView view;
  ok_ = ok_ && wire::Decode(in.Chunk(), &view) && in.ok();
  if (!ok_) return false;
  update->proc = OwnerOf(view.head.proc);
  update->base = view.head.base;
  update->version = view.head.version;
  update->kvals = SliceOf(bytes_, view.kvals);
  at_ += in.position();
  return true;
}

void ModexStore::Merge(RankData* data, const ScopedData& scoped,
                       Touched* touched) {
  std::string_view rest = scoped.kvals.view();
  KvalPiece piece;
  while (TakeKval(&rest, &piece)) {
    auto it = data->keys.find(piece.key);
    // A deletion of a key that was never put is ignored, because no copy has
    // the key.
    if (it == data->keys.end() && piece.deleted) continue;
    if (it == data->keys.end()) {
      it = data->keys.emplace(std::string(piece.key), Put()).first;
    }
    Sides& sides = it->second.sides;
    // A side that has not seen the key has nothing to delete.
    const bool to_here = scoped.scope != Scope::kRemote &&
                         !(piece.deleted && sides.here.empty());
    const bool to_others = scoped.scope != Scope::kLocal &&
                           !(piece.deleted && sides.others.empty());
    sides.split |= !to_here || !to_others;
    // Some libraries commit all their data each time. A value that has not
    // changed is skipped.
    if ((!to_here || sides.here.view() == piece.whole) &&
        (!to_others || sides.others.view() == piece.whole)) {
      continue;
    }
    touched->push_back(&*it);
    const Bytes kval = PieceOf(scoped.kvals, piece.whole);
    if (to_here) sides.here = kval;
    if (!to_others) continue;
    sides.others = kval;
    if (std::exchange(it->second.version, data->version) != data->version) {
      data->changes.push_back({data->version, &*it});
    }
  }
}

void ModexStore::TrimChanges(RankData* data) {
  if (data->changes.size() <= 2 * data->keys.size()) return;
  std::erase_if(data->changes, [](const Change& change) {
    return change.key->second.version != change.version;
  });
}

PublishRank ModexStore::ChangeOf(const ProcId& proc, Touched touched) {
  std::ranges::sort(touched, {}, [](const auto* key) { return key->first; });
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  PublishRank change{proc, {}, {}, true};
  std::string visible;
  for (const Keys::value_type* key : touched) {
    const Bytes& here = key->second.sides.here;
    visible += here.view();
    if (IsOutside(key->first, here)) change.outside.push_back(key->first);
  }
  change.visible = Bytes(std::move(visible));
  return change;
}

const ModexStore::RankData& ModexStore::Fresh(const RankData& data) {
  if (!std::exchange(data.stale, false)) return data;
  if (!data.remote) {
    Rebuild(data);
    return data;
  }
  for (const Bytes& piece : std::exchange(data.news, {})) {
    data.here = Changed(data.here.view(), piece.view());
  }
  data.news_size = 0;
  return data;
}

bool ModexStore::RemoteHas(const RankData& data, std::string_view key) {
  if (data.key_set == nullptr &&
      data.here.size() + data.news_size > kMaxScanned) {
    data.key_set = std::make_unique<KeyOwners>();
    data.key_set->AddAll(data.here.view(), 0);
    for (const Bytes& piece : data.news) {
      data.key_set->AddAll(piece.view(), 0);
    }
  }
  if (data.key_set != nullptr) return data.key_set->Find(key).has_value();
  return HasKey(data.here.view(), key) ||
         std::ranges::any_of(data.news, [key](const Bytes& piece) {
           return HasKey(piece.view(), key);
         });
}

// Returns true if `key` is the name of a qualified value and a value of the
// rank satisfies it. That value may have more qualifiers than `key`.
bool ModexStore::RemoteAnswers(const RankData& data, std::string_view key) {
  if (!IsQualifiedName(key)) return false;
  return Answers(data.here.view(), key) ||
         std::ranges::any_of(data.news, [key](const Bytes& piece) {
           return Answers(piece.view(), key);
         });
}

void ModexStore::IndexPut(Rank rank, const RankData& data, KeyOwners* owners) {
  if (data.remote) return owners->AddPut(Fresh(data).here.view(), rank);
  for (const auto& [key, put] : data.keys) {
    owners->AddPut(put.sides.here.view(), rank);
  }
}

void ModexStore::Index(const RankUpdate& update, bool replaces, JobData* job,
                       RankData* data) {
  if (replaces) data->key_set.reset();
  if (data->key_set != nullptr) data->key_set->AddAll(update.kvals.view(), 0);
  if (job->owners == nullptr) return;
  // A rank's keys only grow. So the index has no superfluous entries if the new
  // data has all keys of the old, which holds unless the rank's agent
  // contradicts itself. The index is also made again after a deletion.
  if (HaveDeletions(update.kvals.view()) ||
      (replaces && !HasAllKeys(update.kvals.view(), data->here.view()))) {
    job->owners.reset();
    return;
  }
  job->owners->AddAll(update.kvals.view(), update.proc.rank);
}

void ModexStore::NoteChange(const PublishRank& change) {
  if (events_ == nullptr) return;
  events_->Post(DataChange{change.proc, change.visible, change.outside});
}

void ModexStore::Rebuild(const RankData& data) {
  // Most ranks put everything with scope GLOBAL; one copy then serves both
  // sides.
  bool same = true;
  size_t here_size = 0;
  size_t others_size = 0;
  for (const auto& [key, put] : data.keys) {
    const Sides& sides = put.sides;
    same &= sides.here.view().data() == sides.others.view().data();
    here_size += sides.here.size();
    others_size += sides.others.size();
  }
  std::string here;
  std::string others;
  here.reserve(here_size);
  if (!same) others.reserve(others_size);
  data.outside.clear();
  for (const auto& [key, put] : data.keys) {
    here += put.sides.here.view();
    if (!same) others += put.sides.others.view();
    if (IsOutside(key, put.sides.here)) data.outside.push_back(key);
  }
  data.here = Bytes(std::move(here));
  data.others = same ? data.here : Bytes(std::move(others));
}

bool ModexStore::Commit(TimeNs now, const ProcId& proc,
                        const std::vector<ScopedData>& data) {
  for (const ScopedData& scoped : data) {
    if (!AreKvals(scoped.kvals.view())) return false;
  }
  JobData& job = jobs_[proc.nspace];
  RankData& rank = job.ranks[proc.rank];
  rank.version =
      std::max({rank.version + 1, static_cast<uint64_t>(now), kRestored + 1});
  Touched touched;
  for (const ScopedData& scoped : data) Merge(&rank, scoped, &touched);
  TrimChanges(&rank);
  rank.change = ChangeOf(proc, std::move(touched));
  rank.stale = true;
  if (job.owners != nullptr) {
    if (HaveDeletions(rank.change.visible.view())) {
      job.owners.reset();
    } else {
      job.owners->AddAll(rank.change.visible.view(), proc.rank);
    }
  }
  NoteChange(rank.change);
  return true;
}

// Returns true if the update is older than `old`. Versions cannot be compared
// if one is unknown (kRestored). A rank's keys only grow, so the older of two
// states has a part of the keys of the other.
bool ModexStore::IsOlder(const RankUpdate& update, const RankData& old) {
  if (update.base != 0) return false;
  if (update.version != kRestored && old.version != kRestored) return false;
  const std::string_view have = Fresh(old).here.view();
  return HasAllKeys(have, update.kvals.view()) &&
         !HasAllKeys(update.kvals.view(), have);
}

bool ModexStore::StoreRemote(const RankUpdate& update) {
  const RankData* old = Find(update.proc);
  const uint64_t have = old == nullptr ? 0 : old->version;
  const bool restored = update.version == kRestored;
  const bool fits = update.base <= have || have == kRestored;
  const bool is_news = restored || (update.version >= have && fits);
  if (!is_news || !AreKvals(update.kvals.view())) return false;
  if (old != nullptr && IsOlder(update, *old)) return false;
  JobData& job = jobs_[update.proc.nspace];
  RankData& rank = job.ranks[update.proc.rank];
  rank.version = update.version;
  const bool changes = update.base > 0 || (restored && have > 0);
  const Bytes kvals = !changes && rank.added
                          ? WithQualified(update.kvals, Fresh(rank).here)
                          : update.kvals;
  if (changes ? kvals.empty()
              : old != nullptr && Fresh(rank).here.view() == kvals.view()) {
    return false;
  }
  rank.remote = true;
  rank.change = {update.proc, kvals, {}, changes};
  rank.change.version = rank.version;
  Index(update, !changes, &job, &rank);
  if (changes) {
    Append(kvals, &rank);
  } else {
    rank.news.clear();
    rank.news_size = 0;
    rank.here = kvals;
  }
  std::erase_if(rank.outside, [&](const std::string& key) {
    return HasKey(kvals.view(), key);
  });
  NoteChange(rank.change);
  return true;
}

void ModexStore::Append(const Bytes& kvals, RankData* data) {
  data->news.push_back(kvals);
  data->news_size += kvals.size();
  data->stale = true;
  // Merging at this limit copies each byte a few times at most, and bounds the
  // memory of replaced values.
  if (data->news_size > data->here.size() + kMaxNews) Fresh(*data);
}

bool ModexStore::AddRemote(const ProcId& proc, const Bytes& kvals) {
  if (kvals.empty() || !AreKvals(kvals.view())) return false;
  JobData& job = jobs_[proc.nspace];
  RankData& rank = job.ranks[proc.rank];
  rank.remote = true;
  rank.added = true;
  rank.change = {proc, kvals, {}, true};
  rank.change.version = rank.version;
  Index({proc, rank.version, rank.version, kvals}, false, &job, &rank);
  Append(kvals, &rank);
  NoteChange(rank.change);
  return true;
}

bool ModexStore::RecoverRemote(const PublishRank& data) {
  const uint64_t version = std::max(data.version, kRestored);
  if (!StoreRemote({data.proc, 0, version, data.visible})) return false;
  for (const std::string& key : data.outside) NoteOutside(data.proc, key);
  return true;
}

void ModexStore::NoteOutside(const ProcId& proc, const std::string& key) {
  RankData& rank = jobs_[proc.nspace].ranks[proc.rank];
  rank.remote = true;
  const auto at =
      std::lower_bound(rank.outside.begin(), rank.outside.end(), key);
  if (at != rank.outside.end() && *at == key) return;
  rank.outside.insert(at, key);
}

const ModexStore::RankData* ModexStore::Find(const ProcId& proc) const {
  const auto job = jobs_.find(proc.nspace);
  if (job == jobs_.end()) return nullptr;
  const auto& ranks = job->second.ranks;
  const auto rank = ranks.find(proc.rank);
  return rank == ranks.end() ? nullptr : &rank->second;
}

ModexStore::Found ModexStore::FindPut(const RankData& data,
                                      std::string_view key,
                                      Bytes Sides::*side) {
  const auto it = data.keys.find(key);
  if (it != data.keys.end()) {
    return (it->second.sides.*side).empty() ? Found::kOutside : Found::kYes;
  }
  if (!IsQualifiedName(key)) return Found::kNo;
  const std::string_view prefix = QualifiedPrefixOf(key);
  Found found = Found::kNo;
  for (auto one = data.keys.lower_bound(prefix);
       one != data.keys.end() && one->first.starts_with(prefix); ++one) {
    if (!Satisfies(one->first, key)) continue;
    if (!(one->second.sides.*side).empty()) return Found::kYes;
    found = Found::kOutside;
  }
  return found;
}

ModexStore::Found ModexStore::FindHere(const ProcId& proc,
                                       std::string_view key) const {
  const RankData* rank = Find(proc);
  if (rank == nullptr) return Found::kNothing;
  if (key.empty()) return Found::kYes;
  if (rank->remote) {
    if (RemoteHas(*rank, key) || RemoteAnswers(*rank, key)) return Found::kYes;
    return std::binary_search(rank->outside.begin(), rank->outside.end(), key)
               ? Found::kOutside
               : Found::kNo;
  }
  return FindPut(*rank, key, &Sides::here);
}

ModexStore::Found ModexStore::FindForOthers(const ProcId& proc,
                                            std::string_view key) const {
  const RankData* rank = Find(proc);
  if (rank == nullptr || rank->remote) return Found::kNothing;
  if (key.empty()) return Found::kYes;
  return FindPut(*rank, key, &Sides::others);
}

const ModexStore::Sides* ModexStore::SidesOf(const ProcId& proc,
                                             std::string_view key) const {
  const RankData* rank = Find(proc);
  if (rank == nullptr) return nullptr;
  const auto it = rank->keys.find(key);
  return it == rank->keys.end() ? nullptr : &it->second.sides;
}

Bytes ModexStore::SeenHere(const ProcId& proc) const {
  const RankData* rank = Find(proc);
  return rank == nullptr ? Bytes() : Fresh(*rank).here;
}

RankUpdate ModexStore::UpdateSince(const ProcId& proc, uint64_t base) const {
  const RankData* rank = Find(proc);
  if (rank == nullptr) return {proc, 0, 0, {}};
  if (base == 0) return {proc, 0, rank->version, Fresh(*rank).others};
  std::string changes;
  const auto first =
      std::ranges::upper_bound(rank->changes, base, {}, &Change::version);
  for (auto it = first; it != rank->changes.end(); ++it) {
    const Put& put = it->key->second;
    if (put.version == it->version) changes += put.sides.others.view();
  }
  return {proc, base, rank->version, Bytes(std::move(changes))};
}

uint64_t ModexStore::KnownVersion(const ProcId& proc) const {
  const RankData* rank = Find(proc);
  if (rank == nullptr || !rank->remote || rank->version == kRestored) return 0;
  return rank->version;
}

PublishRank ModexStore::Publication(const ProcId& proc) const {
  const RankData* rank = Find(proc);
  if (rank == nullptr) return {proc, {}, {}};
  Fresh(*rank);
  PublishRank all{proc, rank->here, rank->outside};
  if (rank->remote) all.version = rank->version;
  return all;
}

PublishRank ModexStore::TakeChange(const ProcId& proc) {
  const RankData* rank = Find(proc);
  if (rank == nullptr) return {proc, {}, {}};
  return std::exchange(const_cast<RankData*>(rank)->change, {});
}

std::optional<Rank> ModexStore::OwnerOf(const std::string& nspace,
                                        std::string_view key) const {
  const auto job = jobs_.find(nspace);
  if (job == jobs_.end()) return std::nullopt;
  const JobData& data = job->second;
  if (data.owners == nullptr) {
    data.owners = std::make_unique<KeyOwners>();
    for (const auto& [rank, one] : data.ranks) {
      IndexPut(rank, one, data.owners.get());
    }
  }
  return data.owners->Find(key);
}

size_t ModexStore::num_indexed() const {
  size_t total = 0;
  for (const auto& [nspace, data] : jobs_) {
    if (data.owners != nullptr) total += data.owners->size();
  }
  return total;
}

void ModexStore::DropJob(const std::string& nspace) { jobs_.erase(nspace); }

}  // namespace canopy::core
