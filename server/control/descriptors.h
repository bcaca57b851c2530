// The descriptors of the control service, for reflection.
#ifndef CANOPY_SERVER_CONTROL_DESCRIPTORS_H_
#define CANOPY_SERVER_CONTROL_DESCRIPTORS_H_

namespace canopy::control {

// Adds the descriptors of control.proto to protobuf's pool of generated files,
// which reflection reads. The service's messages are of the lite runtime and do
// not add them. Further calls have no effect. Called before a server with
// reflection starts.
void RegisterDescriptors();

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_DESCRIPTORS_H_
