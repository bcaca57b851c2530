#include "server/core/publish/publication.h"

#include <algorithm>
#include <utility>

#include "common/describe_procs.h"
#include "common/status.h"

namespace canopy::core {
namespace {

// A publication in a journal. The steward, which recovers it, is not part of
// the record.
struct StoredPublication {
  Publication p;
};

template <typename V>
void Describe(V& v, wire::Is<StoredPublication> auto& m) {
  auto& p = m.p;
  v.Field(1, p.id.publisher);
  v.Field(2, p.id.number);
  v.Field(3, p.version);
  v.Field(4, p.request);
  v.Field(5, p.key);
  v.Field(6, p.range);
  v.Field(7, p.persistence);
  v.Field(8, p.members);
  v.Field(9, p.uid);
  v.Field(10, p.gid);
  v.Field(11, p.uids);
  v.Field(12, p.gids);
  v.Field(13, p.reader.proc);
  v.Field(14, p.reader.request);
  v.Field(15, p.reader.node);
  v.Field(16, p.value);
}

// Approximate memory of a publication besides its key and value, in bytes.
constexpr size_t kOverhead = 256;

DataRange RangeOf(uint8_t range) { return static_cast<DataRange>(range); }

bool Lists(const std::vector<ProcId>& members, const ProcId& proc) {
  return std::ranges::any_of(members, [&](const ProcId& member) {
    return member.nspace == proc.nspace &&
           (member.rank == proc.rank || member.rank == kRankWildcard);
  });
}

// Returns true if a range that `proc` on `node` has given includes the process
// `other`.
bool Includes(uint8_t range, const std::vector<ProcId>& members,
              const ProcId& proc, NodeId node, const ProcId& other,
              NodeId other_node) {
  switch (RangeOf(range)) {
    case DataRange::kProcLocal:
      return proc == other;
    case DataRange::kLocal:
      return node == other_node;
    case DataRange::kNamespace:
      return proc.nspace == other.nspace;
    case DataRange::kCustom:
      return Lists(members, other);
    default:
      return true;
  }
}

bool Permits(const Publication& p, const Searcher& searcher) {
  if (p.uids.empty() && p.gids.empty()) return searcher.uid == p.uid;
  return std::ranges::count(p.uids, searcher.uid) > 0 ||
         std::ranges::count(p.gids, searcher.gid) > 0;
}

int Width(const Publication& p) {
  switch (RangeOf(p.range)) {
    case DataRange::kProcLocal:
      return 0;
    case DataRange::kLocal:
      return 1;
    case DataRange::kCustom:
      return 2;
    case DataRange::kNamespace:
      return 3;
    case DataRange::kSession:
      return 4;
    default:
      return 5;
  }
}

}  // namespace

int CheckRange(uint8_t range) {
  if (RangeOf(range) == DataRange::kRm) return kErrNotSupported;
  const bool known = range > 0 && RangeOf(range) <= DataRange::kProcLocal;
  return known ? kSuccess : kErrBadParam;
}

bool StaysHere(const Publication& p) {
  return RangeOf(p.range) == DataRange::kLocal ||
         RangeOf(p.range) == DataRange::kProcLocal;
}

bool OutlivesJob(const Publication& p) {
  // Both ranges contain only processes of the job.
  if (RangeOf(p.range) == DataRange::kProcLocal ||
      RangeOf(p.range) == DataRange::kNamespace) {
    return false;
  }
  const auto persistence = static_cast<Persistence>(p.persistence);
  return persistence != Persistence::kProc && persistence != Persistence::kApp;
}

bool EndsWhenRead(const Publication& p) {
  return p.persistence == static_cast<uint8_t>(Persistence::kFirstRead);
}

bool OutlivesSteward(const Publication& p) {
  return OutlivesJob(p) && !EndsWhenRead(p);
}

bool IsRightSteward(const Publication& p, NodeId other) {
  if (p.steward == p.home || other == p.home) return p.steward == p.home;
  return p.steward < other;
}

bool IsSamePlace(const Publication& a, const Publication& b) {
  if (a.range != b.range || a.key != b.key) return false;
  switch (RangeOf(a.range)) {
    case DataRange::kProcLocal:
      return a.id.publisher == b.id.publisher;
    case DataRange::kNamespace:
      return a.id.publisher.nspace == b.id.publisher.nspace;
    case DataRange::kLocal:
      return a.steward == b.steward;
    case DataRange::kCustom:
      return a.members == b.members;
    default:
      return true;
  }
}

size_t SizeOf(const Publication& p) {
  return kOverhead + p.key.size() + p.value.size() +
         p.members.size() * sizeof(ProcId) +
         (p.uids.size() + p.gids.size()) * sizeof(uint32_t);
}

Visibility VisibilityOf(const Publication& p, const Searcher& searcher,
                        NodeId node) {
  if (!Includes(searcher.range, searcher.members, searcher.proc, node,
                p.id.publisher, p.steward) ||
      !Includes(p.range, p.members, p.id.publisher, p.steward, searcher.proc,
                node)) {
    return Visibility::kNone;
  }
  return Permits(p, searcher) ? Visibility::kSeen : Visibility::kBarred;
}

bool ComesBefore(const Publication& a, const Publication& b) {
  if (Width(a) != Width(b)) return Width(a) < Width(b);
  if (a.id.number != b.id.number) return a.id.number < b.id.number;
  return a.id < b.id;
}

std::string EncodePublication(const Publication& p) {
  return wire::Encode(StoredPublication{p});
}

std::optional<Publication> DecodePublication(const Bytes& bytes) {
  StoredPublication stored;
  if (!wire::Decode(bytes, &stored) || stored.p.id.publisher.nspace.empty()) {
    return std::nullopt;
  }
  return std::move(stored.p);
}

}  // namespace canopy::core
