#include "server/core/modex/persisted_commits.h"

#include <string_view>
#include <utility>

#include "server/core/journal_key.h"
#include "server/core/modex/kval.h"

namespace canopy::core {
namespace {

struct CommitKey {
  Rank rank = 0;
  Scope scope = Scope::kGlobal;
  std::string_view name;  // name of the key that was put
};

template <typename V>
void Describe(V& v, wire::Is<CommitKey> auto& m) {
  v.Field(1, m.rank);
  v.Choice(2, m.scope, Scope::kGlobal);
  v.Field(3, m.name);
}

void PersistPut(const ProcId& proc, Scope scope, std::string_view name,
                const Bytes& kval, Actions* actions) {
  if (kval.empty()) return;
  actions->push_back(PersistRecord{
      proc.nspace,
      KeyOf(JournalRecordType::kCommit, CommitKey{proc.rank, scope, name}),
      kval});
}

}  // namespace

void PersistCommit(const ModexStore& modex, const ProcId& proc,
                   const std::vector<ScopedData>& data, Actions* actions) {
  for (const ScopedData& scoped : data) {
    std::string_view rest = scoped.kvals.view();
    KvalPiece piece;
    while (TakeKval(&rest, &piece)) {
      const ModexStore::Sides* sides = modex.SidesOf(proc, piece.key);
      if (sides == nullptr) continue;
      if (!sides->split) {
        PersistPut(proc, Scope::kGlobal, piece.key, sides->here, actions);
        continue;
      }
      PersistPut(proc, Scope::kLocal, piece.key, sides->here, actions);
      PersistPut(proc, Scope::kRemote, piece.key, sides->others, actions);
    }
  }
}

std::map<Rank, std::vector<ScopedData>> RecoverCommits(
    const std::vector<PersistedRecord>& records) {
  std::map<Rank, std::vector<ScopedData>> out;
  for (const PersistedRecord& record : records) {
    CommitKey key;
    if (ReadKey(JournalRecordType::kCommit, record.key, &key) &&
        key.scope >= Scope::kLocal && AreKvals(record.value.view())) {
      out[key.rank].push_back({key.scope, record.value});
    }
  }
  return out;
}

}  // namespace canopy::core
