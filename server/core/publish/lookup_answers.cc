#include "server/core/publish/lookup_answers.h"

#include <algorithm>
#include <utility>

#include "common/describe.h"
#include "server/core/journal_key.h"

namespace canopy::core {
namespace {

struct AnswerKey {
  Rank rank = 0;
  uint32_t slot = 0;
};

template <typename V>
void Describe(V& v, wire::Is<AnswerKey> auto& m) {
  v.Field(1, m.rank);
  v.Field(2, m.slot);
}

PersistRecord Record(const ProcId& proc, uint32_t slot, Bytes value) {
  return {proc.nspace,
          KeyOf(JournalRecordType::kLookup, AnswerKey{proc.rank, slot}),
          std::move(value)};
}

}  // namespace

void LookupAnswers::Store(PublishStep& step, const ProcId& proc,
                          LookupAnswer answer) {
  if (!enabled_) return;
  const uint32_t slot = processes_[proc].stored++ % kMaxLookupAnswers;
  step.out.push_back(Record(proc, slot, Bytes(wire::Encode(answer))));
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
  AnswerKey key;
  LookupAnswer answer;
  if (!ReadKey(JournalRecordType::kLookup, record.key, &key) ||
      key.slot >= kMaxLookupAnswers || record.value.empty() ||
      !wire::Decode(record.value, &answer)) {
    return;
  }
  Process& process = processes_[{nspace, key.rank}];
  process.stored = std::max(process.stored, key.slot + 1);
  process.recovered[answer.request] = std::move(answer);
}

}  // namespace canopy::core
