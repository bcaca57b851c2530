// How close this process is to its limit of open files.
#ifndef CANOPY_SERVER_NET_DESCRIPTORS_H_
#define CANOPY_SERVER_NET_DESCRIPTORS_H_

namespace canopy::net {

enum class Supply {
  kPlenty,
  kScarce,     // one of the last that are kept for what runs here
  kExhausted,  // of these, one of the second half
};

// How scarce descriptors are, by the one that was opened last: the kernel gives
// out the lowest that is free, so all below it are in use. A quarter of what
// this process may have open, 256 at most, are kept. Any thread.
Supply SupplyAt(int fd);

}  // namespace canopy::net

#endif  // CANOPY_SERVER_NET_DESCRIPTORS_H_
