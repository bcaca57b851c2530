// The fields of the messages about the life of jobs (protos/overlay.proto).
#ifndef CANOPY_SERVER_OVERLAY_MESSAGE_WIRE_JOBS_H_
#define CANOPY_SERVER_OVERLAY_MESSAGE_WIRE_JOBS_H_

#include "common/describe.h"
#include "common/describe_procs.h"
#include "common/ids.h"
#include "server/core/messages.h"

namespace canopy::core {

using wire::Is;

template <typename V>
void Describe(V& v, Is<AbortMessage> auto& m) {
  v.Field(1, m.source);
  v.Field(2, m.status);
  v.Field(3, m.text);
  v.Field(4, m.targets);
  v.Field(5, m.request);
  v.Field(6, m.origin);
  v.Field(7, m.uid);
  v.Field(8, m.has_uid);
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
void Describe(V& v, Is<Usage> auto& m) {
  v.Field(1, m.cpu_us);
  v.Field(2, m.peak_bytes);
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
  v.Field(8, m.used);
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
  v.Field(5, m.lost);
  v.Field(6, m.controller);
}

template <typename V>
void Describe(V& v, Is<SpawnRequest> auto& m) {
  v.Field(1, m.proc);
  v.Field(2, m.request);
  v.Field(3, m.call);
  v.Field(4, m.has_owner);
  v.Field(5, m.uid);
  v.Field(6, m.gid);
}

template <typename V>
void Describe(V& v, Is<SpawnReply> auto& m) {
  v.Field(1, m.proc);
  v.Field(2, m.request);
  v.Field(3, m.status);
  v.Bounded(4, m.nspace, kMaxNspaceLen);
  v.Field(5, m.spec);
}

}  // namespace canopy::core

#endif  // CANOPY_SERVER_OVERLAY_MESSAGE_WIRE_JOBS_H_
