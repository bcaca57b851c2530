// The request of PMIx_Fabric_register and PMIx_Fabric_update to a host. Only a
// host in C can know more about fabrics than the node itself shows, and such a
// host is called by the server on the process's own node. Therefore the request
// exists in the local protocol only (kHostCall, HostOp::kFabric).
#ifndef CANOPY_COMMON_FABRIC_CALL_H_
#define CANOPY_COMMON_FABRIC_CALL_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace canopy {

struct FabricCall {
  uint8_t operation = 0;  // pmix_fabric_operation_t
  std::string infos;      // the directives in codec form: SIZE n, then n INFO
};

// W: Uint operation, String infos.
std::string EncodeFabricCall(const FabricCall& call);
// Returns false if the bytes are malformed. Does not decode the infos.
bool DecodeFabricCall(std::string_view bytes, FabricCall* call);

}  // namespace canopy

#endif  // CANOPY_COMMON_FABRIC_CALL_H_
