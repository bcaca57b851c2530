#include "common/posix/host_name.h"

#include <unistd.h>

namespace canopy {

std::string LocalHostName() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

}  // namespace canopy
