// The calls that the host decides: what kHostCall contains for each HostOp.
// Libraries of both kinds, agents and hosts use this form. kJobControl and
// kGetCredential have only infos, which are the whole call; common/iof_call.h
// has the calls of output forwarding. Infos are in codec form: SIZE n, then n
// INFO.
#ifndef CANOPY_COMMON_HOST_CALL_H_
#define CANOPY_COMMON_HOST_CALL_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "common/describe.h"
#include "common/ids.h"

namespace canopy::host_call {

// Limit for the units of a block of resources.
inline constexpr size_t kMaxUnits = 4096;

// The number of the field with the caller's directives, in every call.
inline constexpr uint32_t kInfosField = 15;

// The directives of a call of any kind.
struct Infos {
  std::string_view infos;
};

template <typename V>
void Describe(V& v, wire::Is<Infos> auto& m) {
  v.Field(kInfosField, m.infos);
}

// PMIx_Allocation_request.
struct Allocate {
  uint8_t directive = 0;  // pmix_alloc_directive_t
  std::string_view infos;
};

template <typename V>
void Describe(V& v, wire::Is<Allocate> auto& m) {
  v.Field(1, m.directive);
  v.Field(kInfosField, m.infos);
}

// PMIx_Process_monitor.
struct Monitor {
  std::string_view what;  // one info, which names what to monitor
  int error = 0;          // the status of the alert
  std::string_view infos;
};

template <typename V>
void Describe(V& v, wire::Is<Monitor> auto& m) {
  v.Field(1, m.what);
  v.Field(2, m.error);
  v.Field(kInfosField, m.infos);
}

// PMIx_Log.
struct Log {
  std::string_view data;  // infos
  std::string_view infos;
};

template <typename V>
void Describe(V& v, wire::Is<Log> auto& m) {
  v.Field(1, m.data);
  v.Field(kInfosField, m.infos);
}

// PMIx_Session_control.
struct ControlSession {
  uint32_t session = 0;
  std::string_view infos;
};

template <typename V>
void Describe(V& v, wire::Is<ControlSession> auto& m) {
  v.Field(1, m.session);
  v.Field(kInfosField, m.infos);
}

struct ResourceUnit {
  uint64_t type = 0;  // pmix_device_type_t
  uint64_t count = 0;
};

template <typename V>
void Describe(V& v, wire::Is<ResourceUnit> auto& m) {
  v.Field(1, m.type);
  v.Field(2, m.count);
}

// PMIx_Resource_block.
struct BlockResources {
  uint8_t directive = 0;   // pmix_resource_block_directive_t
  std::string_view block;  // name of the block
  std::vector<ResourceUnit> units;
  std::string_view infos;
};

template <typename V>
void Describe(V& v, wire::Is<BlockResources> auto& m) {
  v.Field(1, m.directive);
  v.Field(2, m.block);
  v.Bounded(3, m.units, kMaxUnits);
  v.Field(kInfosField, m.infos);
}

// PMIx_Validate_credential.
struct ValidateCredential {
  std::string_view credential;
  std::string_view infos;
};

template <typename V>
void Describe(V& v, wire::Is<ValidateCredential> auto& m) {
  v.Field(1, m.credential);
  v.Field(kInfosField, m.infos);
}

// One query of PMIx_Query_info, as the agent that answers it sends it to a
// host.
struct Query {
  std::vector<std::string_view> keys;
  std::string_view infos;  // the qualifiers
};

template <typename V>
void Describe(V& v, wire::Is<Query> auto& m) {
  v.Field(1, m.keys);
  v.Field(kInfosField, m.infos);
}

// PMIx_Fabric_register and PMIx_Fabric_update. Only a host in C can know more
// about fabrics than the node itself shows, and such a host is called by the
// server on the process's own node. Therefore the call is in the local protocol
// only.
struct Fabric {
  uint8_t operation = 0;  // pmix_fabric_operation_t
  std::string_view infos;
};

template <typename V>
void Describe(V& v, wire::Is<Fabric> auto& m) {
  v.Field(1, m.operation);
  v.Field(kInfosField, m.infos);
}

}  // namespace canopy::host_call

#endif  // CANOPY_COMMON_HOST_CALL_H_
