// The fields of each message of the agents' cores, and its number in Body: how
// protos/overlay.proto describes them. Of translate and version_5 only.
#ifndef CANOPY_SERVER_OVERLAY_BODY_WIRE_H_
#define CANOPY_SERVER_OVERLAY_BODY_WIRE_H_

#include <cstdint>
#include <string>
#include <type_traits>

#include "common/ids.h"
#include "server/core/messages.h"
#include "server/overlay/proto_wire.h"

namespace canopy {

template <typename V>
void Describe(V& v, overlay::wire::Is<ProcId> auto& m) {
  v.Bounded(1, m.nspace, kMaxNspaceLen);
  v.Field(2, m.rank);
}

}  // namespace canopy

namespace canopy::core {

using overlay::wire::Is;

template <typename V>
void Describe(V& v, Is<CollectiveId> auto& m) {
  v.Field(1, m.op);
  v.Field(2, m.participants);
  v.Field(3, m.sequence);
  v.Bounded(4, m.name, kMaxNspaceLen);
}

template <typename V>
void Describe(V& v, Is<NodeContribution> auto& m) {
  v.Field(1, m.node);
  v.Field(2, m.data);
}

template <typename V, typename M>
requires Is<M, CollectiveUp> || Is<M, CollectiveDown>
void Describe(V& v, M& m) {
  v.Field(1, m.id);
  v.Field(2, m.status);
  v.Field(3, m.contributions);
  v.Field(4, m.missing);
  v.Field(5, m.result);
}

template <typename V>
void Describe(V& v, Is<DmodexRequest> auto& m) {
  v.Field(1, m.request);
  v.Field(2, m.target);
  v.Bounded(3, m.key, kMaxKeyLen);
  v.Field(4, m.timeout_ms);
  v.Field(5, m.known);
}

template <typename V>
void Describe(V& v, Is<DmodexReply> auto& m) {
  v.Field(1, m.request);
  v.Field(2, m.status);
  v.Field(3, m.target);
  v.Field(4, m.data);
  v.Field(5, m.version);
  v.Field(6, m.base);
}

template <typename V>
void Describe(V& v, Is<EventMessage> auto& m) {
  v.Field(1, m.origin);
  v.Field(2, m.number);
  v.Field(3, m.status);
  v.Field(4, m.source);
  v.Field(5, m.range);
  v.Field(6, m.targets);
  v.Field(7, m.info);
  v.Field(8, m.request);
}

template <typename V>
void Describe(V& v, Is<AbortMessage> auto& m) {
  v.Field(1, m.source);
  v.Field(2, m.status);
  v.Field(3, m.text);
  v.Field(4, m.targets);
  v.Field(5, m.request);
  v.Field(6, m.origin);
  v.Field(7, m.uid);
}

template <typename V>
void Describe(V& v, Is<AbortReply> auto& m) {
  v.Field(1, m.source);
  v.Field(2, m.request);
  v.Bounded(3, m.nspace, kMaxNspaceLen);
  v.Field(4, m.status);
}

template <typename V>
void Describe(V& v, Is<JobPrepare> auto& m) {
  v.Field(1, m.spec);
  v.Field(2, m.controller);
  v.Field(3, m.lost);
  v.Field(4, m.explain);
}

template <typename V>
void Describe(V& v, Is<NodeError> auto& m) {
  v.Field(1, m.node);
  v.Field(2, m.status);
  v.Field(3, m.text);
}

template <typename V>
void Describe(V& v, Is<ProgramNote> auto& m) {
  v.Field(1, m.reason);
  v.Field(2, m.detail);
  v.Field(3, m.nodes);
  v.Field(4, m.count);
}

template <typename V>
void Describe(V& v, Is<JobPrepared> auto& m) {
  v.Bounded(1, m.nspace, kMaxNspaceLen);
  v.Field(2, m.nodes_ready);
  v.Field(3, m.errors);
  v.Field(4, m.notes);
  v.Field(5, m.port);
}

template <typename V>
void Describe(V& v, Is<JobStart> auto& m) {
  v.Bounded(1, m.nspace, kMaxNspaceLen);
  v.Field(2, m.port);
}

template <typename V>
void Describe(V& v, Is<JobForget> auto& m) {
  v.Bounded(1, m.nspace, kMaxNspaceLen);
}

template <typename V>
void Describe(V& v, Is<JobStarted> auto& m) {
  v.Bounded(1, m.nspace, kMaxNspaceLen);
  v.Field(2, m.procs_started);
  v.Field(3, m.errors);
}

template <typename V>
void Describe(V& v, Is<ProcExit> auto& m) {
  v.Field(1, m.rank);
  v.Field(2, m.wait_status);
  v.Field(3, m.core_dumped);
  v.Field(4, m.called_init);
  v.Field(5, m.finalized);
  v.Field(6, m.incarnation);
  v.Field(7, m.restarted);
}

template <typename V>
void Describe(V& v, Is<JobExits> auto& m) {
  v.Bounded(1, m.nspace, kMaxNspaceLen);
  v.Field(2, m.exits);
}

template <typename V>
void Describe(V& v, Is<JobSignal> auto& m) {
  v.Bounded(1, m.nspace, kMaxNspaceLen);
  v.Field(2, m.signal);
  v.Field(3, m.ranks);
}

template <typename V>
void Describe(V& v, Is<JobKill> auto& m) {
  v.Bounded(1, m.nspace, kMaxNspaceLen);
  v.Field(2, m.ranks);
  v.Field(3, m.status);
  v.Field(4, m.reason);
}

template <typename V>
void Describe(V& v, Is<OutputData> auto& m) {
  v.Bounded(1, m.nspace, kMaxNspaceLen);
  v.Field(2, m.rank);
  v.Field(3, m.channel);
  v.Field(4, m.data);
  v.Field(5, m.end);
}

template <typename V>
void Describe(V& v, Is<OutputCredit> auto& m) {
  v.Bounded(1, m.nspace, kMaxNspaceLen);
  v.Field(2, m.bytes);
  v.Field(3, m.total);
  v.Field(4, m.resend);
}

template <typename V>
void Describe(V& v, Is<InputCredit> auto& m) {
  v.Bounded(1, m.nspace, kMaxNspaceLen);
  v.Field(2, m.bytes);
  v.Field(3, m.total);
  v.Field(4, m.resend);
}

template <typename V>
void Describe(V& v, Is<InputData> auto& m) {
  v.Bounded(1, m.nspace, kMaxNspaceLen);
  v.Field(2, m.ranks);
  v.Field(3, m.data);
  v.Field(4, m.end);
}

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
void Describe(V& v, Is<OverlayShutdown> auto& m) {
  v.Field(1, m.reason);
}

template <typename V>
void Describe(V& v, Is<JobQuery> auto& m) {
  v.Bounded(1, m.nspace, kMaxNspaceLen);
}

template <typename V>
void Describe(V& v, Is<JobQueryReply> auto& m) {
  v.Bounded(1, m.nspace, kMaxNspaceLen);
  v.Field(2, m.verdict);
}

template <typename V>
void Describe(V&, Is<SyncComplete> auto&) {}

template <typename V>
void Describe(V& v, Is<NodeLost> auto& m) {
  v.Bounded(1, m.nspace, kMaxNspaceLen);
  v.Field(2, m.ranks);
}

template <typename V>
void Describe(V& v, Is<JobMapRequest> auto& m) {
  v.Field(1, m.request);
  v.Bounded(2, m.nspace, kMaxNspaceLen);
  v.Field(3, m.exists_only);
}

template <typename V>
void Describe(V& v, Is<JobMapReply> auto& m) {
  v.Field(1, m.request);
  v.Field(2, m.status);
  v.Bounded(3, m.nspace, kMaxNspaceLen);
  v.Field(4, m.spec);
}

template <typename V>
void Describe(V& v, Is<SpawnRequest> auto& m) {
  v.Field(1, m.proc);
  v.Field(2, m.request);
  v.Field(3, m.call);
}

template <typename V>
void Describe(V& v, Is<SpawnReply> auto& m) {
  v.Field(1, m.proc);
  v.Field(2, m.request);
  v.Field(3, m.status);
  v.Bounded(4, m.nspace, kMaxNspaceLen);
  v.Field(5, m.spec);
}

template <typename V>
void Describe(V& v, Is<PublicationId> auto& m) {
  v.Field(1, m.publisher);
  v.Field(2, m.number);
}

template <typename V>
void Describe(V& v, Is<PublicationReader> auto& m) {
  v.Field(1, m.proc);
  v.Field(2, m.request);
  v.Field(3, m.node);
}

template <typename V>
void Describe(V& v, Is<Publication> auto& m) {
  v.Field(1, m.id);
  v.Field(2, m.steward);
  v.Field(3, m.version);
  v.Field(4, m.request);
  v.Bounded(5, m.key, kMaxKeyLen);
  v.Field(6, m.range);
  v.Field(7, m.persistence);
  v.Field(8, m.members);
  v.Field(9, m.uid);
  v.Field(10, m.gid);
  v.Field(11, m.uids);
  v.Field(12, m.gids);
  v.Field(13, m.value);
  v.Field(14, m.reader);
  v.Field(15, m.home);
}

template <typename V>
void Describe(V& v, Is<DirectoryStore> auto& m) {
  v.Field(1, m.request);
  v.Field(2, m.publication);
  v.Field(3, m.is_new);
}

template <typename V>
void Describe(V& v, Is<DirectoryRemove> auto& m) {
  v.Field(1, m.request);
  v.Field(2, m.id);
}

template <typename V>
void Describe(V& v, Is<DirectoryPull> auto& m) {
  v.Field(1, m.request);
}

template <typename V>
void Describe(V& v, Is<LookupKey> auto& m) {
  v.Bounded(1, m.key, kMaxKeyLen);
  v.Field(2, m.status);
}

template <typename V>
void Describe(V& v, Is<Searcher> auto& m) {
  v.Field(1, m.proc);
  v.Field(2, m.request);
  v.Field(3, m.uid);
  v.Field(4, m.gid);
  v.Field(5, m.range);
  v.Field(6, m.members);
}

template <typename V>
void Describe(V& v, Is<DirectoryLookup> auto& m) {
  v.Field(1, m.request);
  v.Field(2, m.searcher);
  v.Field(3, m.keys);
  v.Field(4, m.waits);
}

template <typename V>
void Describe(V& v, Is<DirectoryLookupEnd> auto& m) {
  v.Field(1, m.request);
  v.Field(2, m.lookup);
}

template <typename V>
void Describe(V& v, Is<DirectoryFound> auto& m) {
  v.Field(1, m.request);
  v.Field(2, m.found);
  v.Field(3, m.missing);
}

template <typename V>
void Describe(V& v, Is<DirectoryClaim> auto& m) {
  v.Field(1, m.request);
  v.Field(2, m.id);
  v.Field(3, m.reader);
  v.Field(4, m.kind);
}

template <typename V>
void Describe(V& v, Is<RankRestarted> auto& m) {
  v.Bounded(1, m.nspace, kMaxNspaceLen);
  v.Field(2, m.rank);
  v.Field(3, m.incarnation);
}

template <typename V>
void Describe(V& v, Is<FactsRequest> auto& m) {
  v.Field(1, m.request);
  v.Bounded(2, m.nspace, kMaxNspaceLen);
  v.Field(3, m.rank);
  v.Field(4, m.memory);
  v.Field(5, m.node);
  v.Field(6, m.jobs);
}

template <typename V>
void Describe(V& v, Is<ProcessFacts> auto& m) {
  v.Field(1, m.rank);
  v.Field(2, m.pid);
  v.Field(3, m.state);
  v.Field(4, m.resident);
}

template <typename V>
void Describe(V& v, Is<JobFacts> auto& m) {
  v.Bounded(1, m.nspace, kMaxNspaceLen);
  v.Field(2, m.uid);
  v.Field(3, m.status);
  v.Field(4, m.command);
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
}

template <typename V>
void Describe(V& v, Is<DirectoryAnswer> auto& m) {
  v.Field(1, m.request);
  v.Field(2, m.status);
}

}  // namespace canopy::core

namespace canopy::overlay {

// Numbers in the oneof of Body.
template <typename T>
struct BodyField;
template <>
struct BodyField<core::CollectiveUp> : std::integral_constant<uint32_t, 1> {};
template <>
struct BodyField<core::CollectiveDown> : std::integral_constant<uint32_t, 2> {};
template <>
struct BodyField<core::DmodexRequest> : std::integral_constant<uint32_t, 3> {};
template <>
struct BodyField<core::DmodexReply> : std::integral_constant<uint32_t, 4> {};
template <>
struct BodyField<core::EventMessage> : std::integral_constant<uint32_t, 5> {};
template <>
struct BodyField<core::AbortMessage> : std::integral_constant<uint32_t, 6> {};
template <>
struct BodyField<core::JobPrepare> : std::integral_constant<uint32_t, 7> {};
template <>
struct BodyField<core::JobPrepared> : std::integral_constant<uint32_t, 8> {};
template <>
struct BodyField<core::JobStart> : std::integral_constant<uint32_t, 9> {};
template <>
struct BodyField<core::JobStarted> : std::integral_constant<uint32_t, 10> {};
template <>
struct BodyField<core::JobExits> : std::integral_constant<uint32_t, 11> {};
template <>
struct BodyField<core::JobSignal> : std::integral_constant<uint32_t, 12> {};
template <>
struct BodyField<core::JobKill> : std::integral_constant<uint32_t, 13> {};
template <>
struct BodyField<core::JobForget> : std::integral_constant<uint32_t, 14> {};
template <>
struct BodyField<core::OutputData> : std::integral_constant<uint32_t, 15> {};
template <>
struct BodyField<core::OutputCredit> : std::integral_constant<uint32_t, 16> {};
template <>
struct BodyField<core::InputData> : std::integral_constant<uint32_t, 17> {};
template <>
struct BodyField<core::InputCredit> : std::integral_constant<uint32_t, 18> {};
template <>
struct BodyField<core::StateQuery> : std::integral_constant<uint32_t, 19> {};
template <>
struct BodyField<core::StateReply> : std::integral_constant<uint32_t, 20> {};
template <>
struct BodyField<core::OverlayShutdown> : std::integral_constant<uint32_t, 21> {
};
template <>
struct BodyField<core::JobQuery> : std::integral_constant<uint32_t, 22> {};
template <>
struct BodyField<core::JobQueryReply> : std::integral_constant<uint32_t, 23> {};
template <>
struct BodyField<core::SyncComplete> : std::integral_constant<uint32_t, 24> {};
template <>
struct BodyField<core::NodeLost> : std::integral_constant<uint32_t, 25> {};
template <>
struct BodyField<core::JobMapRequest> : std::integral_constant<uint32_t, 26> {};
template <>
struct BodyField<core::JobMapReply> : std::integral_constant<uint32_t, 27> {};
template <>
struct BodyField<core::AbortReply> : std::integral_constant<uint32_t, 28> {};
template <>
struct BodyField<core::SpawnRequest> : std::integral_constant<uint32_t, 29> {};
template <>
struct BodyField<core::SpawnReply> : std::integral_constant<uint32_t, 30> {};
template <>
struct BodyField<core::DirectoryStore> : std::integral_constant<uint32_t, 31> {
};
template <>
struct BodyField<core::DirectoryRemove> : std::integral_constant<uint32_t, 32> {
};
template <>
struct BodyField<core::DirectoryPull> : std::integral_constant<uint32_t, 33> {};
template <>
struct BodyField<core::DirectoryLookup> : std::integral_constant<uint32_t, 34> {
};
template <>
struct BodyField<core::DirectoryLookupEnd>
    : std::integral_constant<uint32_t, 35> {};
template <>
struct BodyField<core::DirectoryFound> : std::integral_constant<uint32_t, 36> {
};
template <>
struct BodyField<core::DirectoryClaim> : std::integral_constant<uint32_t, 37> {
};
template <>
struct BodyField<core::RankRestarted> : std::integral_constant<uint32_t, 39> {};
template <>
struct BodyField<core::FactsRequest> : std::integral_constant<uint32_t, 40> {};
template <>
struct BodyField<core::FactsReply> : std::integral_constant<uint32_t, 41> {};
template <>
struct BodyField<core::DirectoryAnswer> : std::integral_constant<uint32_t, 38> {
};

// A serialised Body whose one field is `message`: one allocation.
template <typename T>
std::string EncodeAs(uint32_t field, const T& message) {
  wire::Sizer sizer;
  sizer.Field(field, message);
  std::string out;
  out.reserve(sizer.size());
  wire::Writer(&out).Field(field, message);
  return out;
}

}  // namespace canopy::overlay

#endif  // CANOPY_SERVER_OVERLAY_BODY_WIRE_H_
