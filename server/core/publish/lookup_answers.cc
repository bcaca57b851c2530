#include "server/core/publish/lookup_answers.h"

#include <algorithm>
#include <string_view>

#include "common/slice.h"
#include "common/wire.h"
#include "server/core/journal_key.h"

namespace canopy::core {
namespace {

PersistRecord Record(const ProcId& proc, uint32_t slot, Bytes value) {
  WireWriter key = BeginKey(JournalRecordType::kLookup);
  key.Uint(proc.rank);
  key.Uint(slot);
  return {proc.nspace, key.Take(), std::move(value)};
}

}  // namespace

void LookupAnswers::Store(PublishStep& step, const ProcId& proc,
                          LookupAnswer answer) {
  if (!enabled_) return;
  const uint32_t slot = processes_[proc].stored++ % kMaxLookupAnswers;
  WireWriter value;
  value.Uint(answer.request);
  value.Int(answer.status);
  value.String(answer.payload.view());
  step.out.push_back(Record(proc, slot, Bytes(value.Take())));
}

void LookupAnswers::Keep(PublishStep& step, const ProcId& proc,
                         const LookupAnswer& answer) {
  if (!enabled_) return;
  Store(step, proc, answer);
  auto& recovered = processes_[proc].recovered;
  recovered[answer.request] = answer;
  // Request numbers grow, so the first is the oldest.
  if (recovered.size() > kMaxLookupAnswers) recovered.erase(recovered.begin());
}

std::optional<LookupAnswer> LookupAnswers::Take(const ProcId& proc,
                                                uint64_t request) {
  const auto it = processes_.find(proc);
  if (it == processes_.end()) return std::nullopt;
  auto answer = it->second.recovered.extract(request);
  if (answer.empty()) return std::nullopt;
  return std::move(answer.mapped());
}

void LookupAnswers::Clear(PublishStep& step, const ProcId& proc) {
  const auto it = processes_.find(proc);
  if (it == processes_.end()) return;
  const uint32_t slots = std::min(it->second.stored, kMaxLookupAnswers);
  for (uint32_t slot = 0; slot < slots; ++slot) {
    step.out.push_back(Record(proc, slot, Bytes()));
  }
  processes_.erase(it);
}

void LookupAnswers::OnJobRemoved(const std::string& nspace) {
  std::erase_if(processes_,
                [&](const auto& p) { return p.first.nspace == nspace; });
}

void LookupAnswers::Recover(const std::string& nspace,
                            const PersistedRecord& record) {
  const auto stored = ParseKey(record.key);
  if (!stored || stored->type != JournalRecordType::kLookup) return;
  WireReader key(stored->id);
  const ProcId proc{nspace, key.Uint32()};
  const uint32_t slot = key.Uint32();
  WireReader value(record.value.view());
  LookupAnswer answer;
  answer.request = value.Uint();
  answer.status = static_cast<int>(value.Int());
  const std::string_view payload = value.String();
  if (!key.done() || !value.done() || slot >= kMaxLookupAnswers) return;
  answer.payload = SliceOf(record.value, payload);
  Process& process = processes_[proc];
  process.stored = std::max(process.stored, slot + 1);
  process.recovered[answer.request] = std::move(answer);
}

}  // namespace canopy::core
