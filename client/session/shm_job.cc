#include "client/session/shm_job.h"

#include <utility>

#include "common/codec/decoder.h"
#include "common/codec/stored_key.h"
#include "common/values/value_ops.h"

namespace canopy::client {

Result<std::unique_ptr<ShmJob>> ShmJob::Map(int fd, uint64_t size) {
  auto reader = shm::SegmentReader::Map(fd, size);
  if (!reader.ok()) return reader.status();
  return std::make_unique<ShmJob>(std::move(reader).value());
}

Presence ShmJob::ReadProc(Rank rank, std::string_view key, pmix_value_t* value,
                          int* status) const {
  value->type = PMIX_UNDEF;
  for (;;) {
    const shm::Lookup lookup = reader_->FindProc(rank, key);
    if (lookup.found()) *status = DecodeValue(lookup.value(), value);
    if (!reader_->StillValid(lookup)) {
      DestructValue(value);
      continue;
    }
    switch (lookup.state()) {
      case shm::LookupState::kFound:
        return Presence::kFound;
      case shm::LookupState::kOutsideScope:
        return Presence::kOutsideScope;
      case shm::LookupState::kNoRoom:
        return Presence::kIncomplete;
      case shm::LookupState::kAbsent:
        return Presence::kAbsent;
    }
  }
}

void ShmJob::ForEachProc(Rank rank, const Visit& visit,
                         const std::function<void()>& clear) const {
  const auto without_scopes = [&](std::string_view key,
                                  std::string_view value) {
    if (!IsStoredName(key) || IsQualifiedName(key)) visit(key, value);
  };
  while (!reader_->ForEachProcKey(rank, without_scopes)) clear();
}

}  // namespace canopy::client
