#include "server/agent/persistence/launch_facts.h"

#include <cstdint>

#include "common/describe.h"

namespace canopy {

template <typename V>
void Describe(V& v, wire::Is<PlacementId> auto& m) {
  v.Field(1, m.request);
  v.Field(2, m.attempt);
}

template <typename V>
void Describe(V& v, wire::Is<HostOutput> auto& m) {
  v.Field(1, m.output);
  v.Field(2, m.error);
  v.Field(3, m.append);
}

namespace control {

template <typename V>
void Describe(V& v, wire::Is<PlacementFacts> auto& m) {
  v.Field(1, m.id);
  v.Field(2, m.host_job);
  v.Field(3, m.queued_ms);
  v.Field(4, m.started_ms);
  v.Field(5, m.caller_job);
}

template <typename V>
void Describe(V& v, wire::Is<LaunchFacts> auto& m) {
  v.Field(1, m.oversubscribe);
  v.Field(2, m.spawn_request);
  v.Field(3, m.separate);
  v.Field(4, m.apart);
  v.Field(5, m.reports);
  v.Field(6, m.start_deadline);
  v.Field(7, m.tool);
  v.Field(8, m.cospawned);
  v.Field(9, m.partner);
  v.Field(10, m.placed);
  v.Field(11, m.requeued);
  v.Field(12, m.host_output);
  v.Field(13, m.nohup);
  v.Field(14, m.unattended);
  v.Field(15, m.wishes);
  v.Field(16, m.suspended);
}

}  // namespace control

namespace agent {
namespace {

struct FactsRecord {
  control::LaunchFacts facts;
  bool complete = true;
};

template <typename V>
void Describe(V& v, wire::Is<FactsRecord> auto& m) {
  v.Field(1, m.facts);
  v.Field(2, m.complete);  // last: bytes that were cut short lack it
}

}  // namespace

std::string EncodeFacts(const control::LaunchFacts& facts) {
  return wire::Encode(FactsRecord{facts});
}

control::LaunchFacts DecodeFacts(std::string_view bytes) {
  FactsRecord record;
  if (!wire::Decode(bytes, &record) || !record.complete) return {};
  return record.facts;
}

}  // namespace agent
}  // namespace canopy
