#include "common/fabric_call.h"

#include "common/wire.h"

namespace canopy {

std::string EncodeFabricCall(const FabricCall& call) {
  WireWriter out;
  out.Uint(call.operation);
  out.String(call.infos);
  return out.Take();
}

bool DecodeFabricCall(std::string_view bytes, FabricCall* call) {
  WireReader in(bytes);
  const uint64_t operation = in.Uint();
  call->infos = std::string(in.String());
  call->operation = static_cast<uint8_t>(operation);
  return in.done() && operation <= UINT8_MAX;
}

}  // namespace canopy
