// How close this process is to its limit of open files.
#ifndef CANOPY_SERVER_NET_DESCRIPTORS_H_
#define CANOPY_SERVER_NET_DESCRIPTORS_H_

namespace canopy::net {

enum class Supply {
  kPlenty,
  // The descriptor opened last is one of those reserved for this process's own
  // work.
  kScarce,
  kExhausted,  // it is in the second half of the reserved descriptors
};

// Determines from the descriptor opened last, `fd`, how scarce descriptors are:
// the kernel assigns the lowest free number, so all lower ones are in use. A
// quarter of the limit, at most 256 descriptors, is reserved. Any thread.
Supply SupplyAt(int fd);

}  // namespace canopy::net

#endif  // CANOPY_SERVER_NET_DESCRIPTORS_H_
