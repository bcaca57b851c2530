// Frames of other calls: aborts, spawns, queries and calls of the host.
#ifndef CANOPY_COMMON_LOCAL_CALLS_H_
#define CANOPY_COMMON_LOCAL_CALLS_H_

#include <cstddef>
#include <string_view>
#include <vector>

#include "common/describe_procs.h"
#include "common/host_op.h"
#include "common/local/collectives.h"

namespace canopy::local {

// kAbort.
struct Abort {
  int status = 0;
  std::string_view text;
  std::vector<ProcView> targets;
};

template <typename V>
void Describe(V& v, wire::Is<Abort> auto& m) {
  v.Field(1, m.status);
  v.Bounded(2, m.text, 64 << 10);
  v.Bounded(3, m.targets, kMaxProcs);
}

// kSpawn. The payload of the reply is the new namespace (text).
struct Spawn {
  std::string_view
      call;  // codec form: SIZE n, n INFO of the job, SIZE m, m APP
};

template <typename V>
void Describe(V& v, wire::Is<Spawn> auto& m) {
  v.Field(1, m.call);
}

// kQuery. The payload of the reply, also after a partial success, is in codec
// form: SIZE n, n INFO.
struct Query {
  std::string_view queries;  // codec form: SIZE n, n QUERY
};

template <typename V>
void Describe(V& v, wire::Is<Query> auto& m) {
  v.Field(1, m.queries);
}

// kHostCall. The payload of the reply is empty, or it contains the results in
// codec form: SIZE n, n INFO.
struct HostCall {
  HostOp op = HostOp::kJobControl;
  std::vector<ProcView> targets;
  std::string_view call;  // common/host_call.h
};

template <typename V>
void Describe(V& v, wire::Is<HostCall> auto& m) {
  v.Choice(1, m.op, HostOp::kFabric);
  v.Bounded(2, m.targets, kMaxProcs);
  v.Field(3, m.call);
}

// kIgnored: a directive that the client's library has not honoured.
struct Ignored {
  std::string_view function;
  std::string_view key;
};

template <typename V>
void Describe(V& v, wire::Is<Ignored> auto& m) {
  v.Bounded(1, m.function, kMaxKeyLen);
  v.Bounded(2, m.key, kMaxKeyLen);
}

}  // namespace canopy::local

#endif  // CANOPY_COMMON_LOCAL_CALLS_H_
