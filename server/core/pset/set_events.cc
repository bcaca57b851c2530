#include "server/core/pset/set_events.h"

#include <utility>

#include "common/bytes.h"
#include "common/codec/encoder.h"
#include "server/core/data_range.h"
#include "server/core/event/event_info.h"
#include "server/core/event/events.h"
#include "server/core/pset/set_keys.h"

namespace canopy::core {
namespace {

// Kinds of events of one process or job, as bits of EventRaised::id.
constexpr uint64_t kDefinition = uint64_t{1} << 62;
constexpr uint64_t kOfApplication = uint64_t{1} << 61;
constexpr uint64_t kDeletion = uint64_t{1} << 60;

void PutName(const std::string& name, Encoder* out) {
  PutInfo(kSetNameKey, PMIX_STRING, out);
  out->PutString(name);
}

// Returns the infos of the event. It is marked non-default, because the default
// handler of Open MPI ends the process for any event.
Bytes Definition(const std::string& name, const std::vector<ProcId>& members) {
  Encoder out;
  out.PutSize(3);
  PutName(name, &out);
  PutFlag(kNonDefaultKey, &out);
  PutInfo(kSetMembersKey, PMIX_DATA_ARRAY, &out);
  out.PutUint16(PMIX_PROC);
  out.PutSize(members.size());
  for (const ProcId& member : members) out.PutProc(member);
  return Bytes(out.Take());
}

Bytes Deletion(const std::string& name) {
  Encoder out;
  out.PutSize(3);
  PutName(name, &out);
  PutFlag(kNonDefaultKey, &out);
  PutFlag(kDoNotCacheKey, &out);
  return Bytes(out.Take());
}

EventRaised Event(int status, const ProcId& source, uint64_t id, Bytes info) {
  EventRaised event;
  event.id = id;
  event.status = status;
  event.source = source;
  event.range = static_cast<uint8_t>(DataRange::kSession);
  event.info = std::move(info);
  return event;
}

}  // namespace

uint64_t DefinitionId(uint64_t number) {
  return kAgentsEvent | kDefinition | (number & (kDeletion - 1));
}

EventRaised SetDefined(const SetEventSource& source, const std::string& name,
                       const std::vector<ProcId>& members) {
  return Event(kSetDefine, source.definer, DefinitionId(source.number),
               Definition(name, members));
}

EventRaised SetOfApplication(const SetEventSource& source,
                             const std::string& name,
                             const std::vector<ProcId>& members) {
  return Event(kSetDefine, source.definer,
               kAgentsEvent | kOfApplication | source.number,
               Definition(name, members));
}

EventRaised SetDeleted(const SetEventSource& source, const std::string& name) {
  return Event(kSetDelete, source.definer,
               kAgentsEvent | kDeletion | (source.number & (kDeletion - 1)),
               Deletion(name));
}

}  // namespace canopy::core
