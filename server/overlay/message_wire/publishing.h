// The fields of the messages about published data (protos/overlay.proto).
#ifndef CANOPY_SERVER_OVERLAY_MESSAGE_WIRE_PUBLISHING_H_
#define CANOPY_SERVER_OVERLAY_MESSAGE_WIRE_PUBLISHING_H_

#include "common/describe.h"
#include "common/describe_procs.h"
#include "common/ids.h"
#include "server/core/messages.h"

namespace canopy::core {

using wire::Is;

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
void Describe(V& v, Is<DirectoryAnswer> auto& m) {
  v.Field(1, m.request);
  v.Field(2, m.status);
}

}  // namespace canopy::core

#endif  // CANOPY_SERVER_OVERLAY_MESSAGE_WIRE_PUBLISHING_H_
