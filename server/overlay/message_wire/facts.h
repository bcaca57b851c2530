// The fields of the messages about other agents' state (protos/overlay.proto).
#ifndef CANOPY_SERVER_OVERLAY_MESSAGE_WIRE_FACTS_H_
#define CANOPY_SERVER_OVERLAY_MESSAGE_WIRE_FACTS_H_

#include "common/describe.h"
#include "common/describe_procs.h"
#include "common/ids.h"
#include "server/core/messages.h"

namespace canopy::core {

using wire::Is;

template <typename V>
void Describe(V& v, Is<StateQuery> auto& m) {
  v.Field(1, m.request);
  v.Field(2, m.what);
  v.Bounded(3, m.nspace, kMaxNspaceLen);
}

template <typename V>
void Describe(V& v, Is<StateReply> auto& m) {
  v.Field(1, m.request);
  v.Field(2, m.answer);
}

template <typename V>
void Describe(V& v, Is<UsageFields> auto& m) {
  v.Field(1, m.proc);
  v.Field(2, m.node);
  v.Field(3, m.disk);
  v.Field(4, m.net);
}

template <typename V>
void Describe(V& v, Is<FactsRequest> auto& m) {
  v.Field(1, m.request);
  v.Bounded(2, m.nspace, kMaxNspaceLen);
  v.Field(3, m.rank);
  v.Field(4, m.memory);
  v.Field(5, m.node);
  v.Field(6, m.jobs);
  v.Field(7, m.usage);
}

template <typename V>
void Describe(V& v, Is<ProcessFacts> auto& m) {
  v.Field(1, m.rank);
  v.Field(2, m.pid);
  v.Field(3, m.state);
  v.Field(4, m.resident);
  v.Field(5, m.usage);
}

template <typename V>
void Describe(V& v, Is<JobFacts> auto& m) {
  v.Bounded(1, m.nspace, kMaxNspaceLen);
  v.Field(2, m.uid);
  v.Field(3, m.status);
  v.Field(4, m.command);
  v.Field(5, m.ends_in_ms);
}

template <typename V>
void Describe(V& v, Is<MemoryFacts> auto& m) {
  v.Field(1, m.agent);
  v.Field(2, m.clients);
  v.Field(3, m.num_clients);
}

template <typename V>
void Describe(V& v, Is<FactsReply> auto& m) {
  v.Field(1, m.request);
  v.Field(2, m.status);
  v.Field(3, m.memory);
  v.Field(4, m.processes);
  v.Field(5, m.jobs);
  v.Field(6, m.usage);
}

}  // namespace canopy::core

#endif  // CANOPY_SERVER_OVERLAY_MESSAGE_WIRE_FACTS_H_
