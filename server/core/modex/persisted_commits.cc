#include "server/core/modex/persisted_commits.h"

#include <string_view>
#include <utility>

#include "common/wire.h"
#include "server/core/journal_key.h"
#include "server/core/modex/kval.h"

namespace canopy::core {
namespace {

void PersistPut(const ProcId& proc, Scope scope, std::string_view name,
                const Bytes& kval, Actions* actions) {
  if (kval.empty()) return;
  WireWriter key = BeginKey(JournalRecordType::kCommit);
  key.Uint(proc.rank);
  key.Uint(static_cast<uint64_t>(scope));
  key.String(name);
  actions->push_back(PersistRecord{proc.nspace, key.Take(), kval});
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
    const auto stored = ParseKey(record.key);
    if (!stored || stored->type != JournalRecordType::kCommit) continue;
    WireReader key(stored->id);
    const Rank rank = key.Uint32();
    const uint64_t scope = key.Uint();
    if (!key.ok() || scope < 1 || scope > 3 || !AreKvals(record.value.view())) {
      continue;
    }
    out[rank].push_back({static_cast<Scope>(scope), record.value});
  }
  return out;
}

}  // namespace canopy::core
