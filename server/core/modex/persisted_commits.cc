#include "server/core/modex/persisted_commits.h"

#include <string_view>
#include <utility>

#include "common/slice.h"
#include "common/wire.h"
#include "server/core/journal_key.h"
#include "server/core/modex/kval.h"

namespace canopy::core {

void PersistCommit(const ProcId& proc, const std::vector<ScopedData>& data,
                   Actions* actions) {
  for (const ScopedData& scoped : data) {
    std::string_view rest = scoped.kvals.view();
    KvalPiece piece;
    while (TakeKval(&rest, &piece)) {
      WireWriter key = BeginKey(JournalRecordType::kCommit);
      key.Uint(proc.rank);
      key.Uint(static_cast<uint64_t>(scoped.scope));
      key.String(piece.key);
      actions->push_back(PersistRecord{proc.nspace, key.Take(),
                                       SliceOf(scoped.kvals, piece.whole)});
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
