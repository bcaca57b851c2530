// The result of PMIx_Get_version. Programs compare its beginning with the
// interface version that they were built for.
#ifndef CANOPY_CLIENT_SESSION_VERSION_H_
#define CANOPY_CLIENT_SESSION_VERSION_H_

namespace canopy::client {

inline constexpr char kVersionText[] =
    "OpenPMIx 4.2.2 compatible Canopy 0.1 (PMIx Standard: 4.2, Stable ABI: "
    "0.0, Provisional ABI: 0.0)";

}  // namespace canopy::client

#endif  // CANOPY_CLIENT_SESSION_VERSION_H_
