#include "server/core/publish/journal_slots.h"

#include <algorithm>

#include "server/core/journal_key.h"
#include "server/core/publish/publication.h"

namespace canopy::core {
namespace {

std::string KeyAt(uint32_t slot) {
  return KeyOf(JournalRecordType::kPublication, JournalSlot{slot});
}

}  // namespace

uint32_t JournalSlots::Claim(Job* job) {
  if (job->free.empty()) return job->next++;
  return job->free.extract(job->free.begin()).value();
}

void JournalSlots::Store(PublishStep& step, const Publication& p) {
  if (!enabled_) return;
  const std::string& nspace = p.id.publisher.nspace;
  Job& job = jobs_[nspace];
  auto it = job.slots.find(p.id);
  if (it == job.slots.end()) it = job.slots.emplace(p.id, Claim(&job)).first;
  step.out.push_back(
      PersistRecord{nspace, KeyAt(it->second), Bytes(EncodePublication(p))});
}

void JournalSlots::Clear(PublishStep& step, const PublicationId& id) {
  const auto job = jobs_.find(id.publisher.nspace);
  if (job == jobs_.end()) return;
  const auto slot = job->second.slots.extract(id);
  if (slot.empty()) return;
  job->second.free.insert(slot.mapped());
  step.out.push_back(
      PersistRecord{id.publisher.nspace, KeyAt(slot.mapped()), Bytes()});
}

std::optional<Publication> JournalSlots::Recover(
    const std::string& nspace, const PersistedRecord& record) {
  JournalSlot key;
  if (!ReadKey(JournalRecordType::kPublication, record.key, &key) ||
      key.slot == UINT32_MAX) {
    return {};
  }
  const uint32_t slot = key.slot;
  Job& job = jobs_[nspace];
  for (; job.next <= slot; ++job.next) job.free.insert(job.next);
  std::optional<Publication> p = DecodePublication(record.value);
  if (!p || p->id.publisher.nspace != nspace) return {};
  job.free.erase(slot);
  job.slots[p->id] = slot;
  return p;
}

}  // namespace canopy::core
