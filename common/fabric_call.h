// What PMIx_Fabric_register and PMIx_Fabric_update ask of a host, in bytes. Of
// the hosts those in C alone can know more than the node shows, and they are
// asked by the server of the process's own node: so the call is one of the
// local protocol (kHostCall, HostOp::kFabric), and of no other.
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
// False when it is malformed. The infos are not looked at.
bool DecodeFabricCall(std::string_view bytes, FabricCall* call);

}  // namespace canopy

#endif  // CANOPY_COMMON_FABRIC_CALL_H_
