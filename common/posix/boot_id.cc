#include "common/posix/boot_id.h"

#include <fstream>

namespace canopy {

std::string BootId() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id;
}

}  // namespace canopy
