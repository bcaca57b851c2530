// canopy-entry.so, which the kubelet preloads into containers that request
// ranks. It lets canopy-exec take the place of the container's first process,
// so that an image needs neither Canopy nor another command. It uses no
// library, because it is loaded beside any C library.
#include <asm/unistd.h>
#include <fcntl.h>
#include <stddef.h>

#define EXEC_PROGRAM "/opt/canopy/bin/canopy-exec"
#define RANKS_VARIABLE "CANOPY_RANKS="

enum {
  kMaxBytes = 4 << 20,  // of the arguments or of the environment
  kMaxEntries = 1 << 16,
  kMaxPath = 4096,
  kExitCannotStart = 75,
};

#if defined(__x86_64__)
static long Call(long number, long a, long b, long c, long d) {
  long result;
  register long r10 __asm__("r10") = d;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
                   : "rcx", "r11", "memory");
  return result;
}
#elif defined(__aarch64__)
static long Call(long number, long a, long b, long c, long d) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  __asm__ volatile("svc #0"
                   : "+r"(x0)
                   : "r"(x8), "r"(x1), "r"(x2), "r"(x3)
                   : "memory");
  return x0;
}
#else
#error "the entry library has no system calls for this architecture"
#endif

static char arguments[kMaxBytes];
static char environment[kMaxBytes];
static char* argv[kMaxEntries + 5];
static char* envp[kMaxEntries + 1];
static char program[kMaxPath];

// Reads a file and terminates it. Returns its size, or -1 if it does not fit.
static long ReadFile(const char* path, char* out) {
  const long fd = Call(__NR_openat, AT_FDCWD, (long)path, O_RDONLY, 0);
  if (fd < 0) return -1;
  long size = 0;
  long n = 1;
  while (n > 0 && size < kMaxBytes - 1) {
    n = Call(__NR_read, fd, (long)(out + size), kMaxBytes - 1 - size, 0);
    if (n > 0) size += n;
  }
  Call(__NR_close, fd, 0, 0, 0);
  out[size] = '\0';
  return n == 0 ? size : -1;
}

// Stores pointers to the terminated texts. Returns their number, or -1 if there
// are too many.
static long Split(char* texts, long size, char** out) {
  long count = 0;
  for (long i = 0; i < size; ++count) {
    if (count == kMaxEntries) return -1;
    out[count] = texts + i;
    while (texts[i] != '\0') ++i;
    ++i;
  }
  out[count] = NULL;
  return count;
}

static int StartsWith(const char* text, const char* prefix) {
  while (*prefix != '\0') {
    if (*text++ != *prefix++) return 0;
  }
  return 1;
}

static int Requests(char** entries) {
  for (; *entries != NULL; ++entries) {
    if (StartsWith(*entries, RANKS_VARIABLE)) return 1;
  }
  return 0;
}

static void Fail(const char* text) {
  long size = 0;
  while (text[size] != '\0') ++size;
  Call(__NR_write, 2, (long)text, size, 0);
  Call(__NR_exit_group, kExitCannotStart, 0, 0, 0);
}

__attribute__((constructor)) static void Enter(void) {
  if (Call(__NR_getpid, 0, 0, 0, 0) != 1) return;
  long size = ReadFile("/proc/self/environ", environment);
  if (size < 0 || Split(environment, size, envp) < 0) {
    Fail("canopy-entry.so: the environment cannot be read\n");
  }
  if (!Requests(envp)) return;
  size = ReadFile("/proc/self/cmdline", arguments);
  if (size <= 0 || Split(arguments, size, argv + 4) < 0) {
    Fail("canopy-entry.so: the arguments cannot be read\n");
  }
  const long length = Call(__NR_readlinkat, AT_FDCWD, (long)"/proc/self/exe",
                           (long)program, kMaxPath - 1);
  if (length <= 0) {
    Fail("canopy-entry.so: the program's path cannot be read\n");
  }
  argv[0] = (char*)"canopy-exec";
  argv[1] = (char*)"--program";
  argv[2] = program;
  argv[3] = (char*)"--";
  Call(__NR_execve, (long)EXEC_PROGRAM, (long)argv, (long)envp, 0);
  Fail("canopy-entry.so: cannot execute " EXEC_PROGRAM "\n");
}
