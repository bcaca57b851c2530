// Errors of gRPC's transport in plain words.
#ifndef CANOPY_COMMON_WORDING_TRANSPORT_TEXT_H_
#define CANOPY_COMMON_WORDING_TRANSPORT_TEXT_H_

#include <string>
#include <string_view>

namespace canopy {

// Returns the cause that a message of gRPC's transport contains, such as
// "Connection refused". Other messages are returned as they are.
std::string TransportText(std::string_view message);

}  // namespace canopy

#endif  // CANOPY_COMMON_WORDING_TRANSPORT_TEXT_H_
