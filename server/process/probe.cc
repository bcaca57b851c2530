// The program that tests start as a rank. Arguments:
//   argv ARGS...     prints every argument, each followed by a NUL
//   descriptors      prints the numbers of its open descriptors
//   pattern BYTES    writes BYTES bytes, of which byte i is 'a' + i % 23
//   abort            ends with SIGABRT
//   stubborn         ignores SIGTERM, prints "ready" and sleeps
#include <dirent.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

namespace {

int PrintArguments(int argc, char** argv) {
  for (int i = 0; i < argc; ++i) {
    fwrite(argv[i], strlen(argv[i]) + 1, 1, stdout);
  }
  return 0;
}

int PrintDescriptors() {
  DIR* const dir = opendir("/proc/self/fd");
  std::set<int> open;
  while (const dirent* entry = readdir(dir)) {
    const int fd = atoi(entry->d_name);
    if (entry->d_name[0] != '.' && fd != dirfd(dir)) open.insert(fd);
  }
  closedir(dir);
  for (const int fd : open) printf("%d ", fd);
  return 0;
}

int WritePattern(size_t bytes) {
  std::string block(1 << 16, 0);
  size_t position = 0;
  while (position < bytes) {
    const size_t size = std::min(block.size(), bytes - position);
    for (size_t i = 0; i < size; ++i) {
      block[i] = static_cast<char>('a' + (position + i) % 23);
    }
    if (fwrite(block.data(), 1, size, stdout) != size) return 1;
    position += size;
  }
  return fflush(stdout) == 0 ? 0 : 1;
}

int BeStubborn() {
  signal(SIGTERM, SIG_IGN);
  puts("ready");
  fflush(stdout);
  for (;;) pause();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "argv") return PrintArguments(argc - 2, argv + 2);
  if (what == "descriptors") return PrintDescriptors();
  if (what == "pattern") return WritePattern(strtoull(argv[2], nullptr, 10));
  if (what == "abort") abort();
  if (what == "stubborn") return BeStubborn();
  return 64;
}
