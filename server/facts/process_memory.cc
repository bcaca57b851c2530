#include "server/facts/process_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace canopy::facts {

// Reads the second number of statm, which is in pages.
uint64_t ResidentBytes(int pid) {
  char path[32];
  snprintf(path, sizeof path, "/proc/%d/statm", pid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[128];
  const ssize_t size = read(fd, text, sizeof text - 1);
  close(fd);
  if (size <= 0) return 0;
  text[size] = '\0';
  char* rest = nullptr;
  strtoull(text, &rest, 10);
  const uint64_t pages = strtoull(rest, nullptr, 10);
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace canopy::facts
