/* Tests the bytes of the PMI protocols on PMI_FD: PMI-2 alone, and PMI-2 beside
 * PMI-1 and PMIx in one job. Usage: pmi_wire forms | mixed | bad NONSENSE
 * DIRECTORY */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pmix_check.h"

static int fd;
static unsigned size;
static char answer[1 << 17];

static void fail(const char *what) {
  fprintf(stderr, "rank %u: %s; the last answer is: %s\n", self.rank, what,
          answer);
  exit(9);
}

static void put_bytes(const char *data, size_t count) {
  while (count > 0) {
    const ssize_t n = write(fd, data, count);
    if (n <= 0) fail("cannot write");
    data += n;
    count -= n;
  }
}

static void get_bytes(char *data, size_t count) {
  while (count > 0) {
    const ssize_t n = read(fd, data, count);
    if (n <= 0) fail("the connection has ended");
    data += n;
    count -= n;
  }
}

static void get_line(void) {
  size_t n = 0;
  do {
    get_bytes(answer + n, 1);
  } while (answer[n++] != '\n' && n < sizeof answer - 1);
  answer[n - 1] = '\0';
}

static void get_message(void) {
  char header[7] = "";
  get_bytes(header, 6);
  const int length = atoi(header);
  if (length < 1 || length >= (int)sizeof answer) fail("a bad length");
  get_bytes(answer, length);
  answer[length] = '\0';
}

static void send_message(const char *text) {
  char header[7];
  snprintf(header, sizeof header, "%-6zu", strlen(text));
  put_bytes(header, 6);
  put_bytes(text, strlen(text));
}

static void wants(const char *want) {
  if (strcmp(answer, want) == 0) return;
  fprintf(stderr, "not %s\n", want);
  fail("another answer was expected");
}

static void ask(const char *want, const char *format, ...) {
  static char text[1 << 17];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  send_message(text);
  get_message();
  if (want != NULL) wants(want);
}

static void ask_line(const char *want, const char *format, ...) {
  char text[4096];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  put_bytes(text, strlen(text));
  get_line();
  if (want != NULL) wants(want);
}

static void begin2(void) {
  ask_line("cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0",
           "cmd=init pmi_version=2 pmi_subversion=0\n");
  char want[256];
  snprintf(want, sizeof want,
           "cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;rank=%u;"
           "size=%u;appnum=0;debugged=FALSE;pmiverbose=FALSE;",
           self.rank, size);
  ask(want, "cmd=fullinit;pmirank=%u;threaded=FALSE;", self.rank);
}

static void end2(void) {
  ask("cmd=finalize-response;thrid=0xf;rc=0;", "cmd=finalize;thrid=0xf;");
}

/* Tests forms of messages that no library writes. */
static void forms(void) {
  begin2();
  ask("cmd=kvs-put-response;rc=0;", "cmd=kvs-put;key=k-%u;value=;;=\n;;;",
      self.rank);
  ask("cmd=kvs-fence-response;thrid=a;;b;rc=0;", "cmd=kvs-fence;thrid=a;;b;");
  for (unsigned r = 0; r < size; ++r) {
    ask("cmd=kvs-get-response;rc=0;found=TRUE;value=;;=\n;;;",
        "cmd=kvs-get;key=k-%u;", r);
  }
  /* Sends a message byte by byte, and then several messages at once. */
  const char text[] = "    14cmd=job-getid;";
  for (size_t i = 0; i + 1 < sizeof text; ++i) put_bytes(text + i, 1);
  get_message();
  for (int i = 0; i < 3; ++i) put_bytes(text, sizeof text - 1);
  for (int i = 0; i < 3; ++i) {
    get_message();
    if (strncmp(answer, "cmd=job-getid-response;rc=0;jobid=", 34) != 0)
      fail("no job");
  }
  /* Sends the longest message that is allowed. */
  static char argument[(64 << 10) - 100];
  memset(argument, 'x', sizeof argument - 1);
  ask("cmd=spawn-response;rc=10;errmsg=bad_spawn_command;",
      "cmd=spawn;ncmds=2;subcmd=true;maxprocs=1;argc=1;argv0=%s;", argument);
  /* Initialises a second time. */
  begin2();
  end2();
}

/* The ranks use PMI-2, PMI-1 and PMIx in turn. Every rank finds the data of all
 * others. */
static void key_of(char *key, unsigned r) { sprintf(key, "of-%u", r); }

static void mixed_pmi2(void) {
  char key[32];
  begin2();
  key_of(key, self.rank);
  ask("cmd=kvs-put-response;rc=0;", "cmd=kvs-put;key=%s;value=v %s;", key, key);
  ask("cmd=kvs-fence-response;rc=0;", "cmd=kvs-fence;");
  for (unsigned r = 0; r < size; ++r) {
    char want[128];
    key_of(key, r);
    sprintf(want, "cmd=kvs-get-response;rc=0;found=TRUE;value=v %s;", key);
    ask(want, "cmd=kvs-get;key=%s;", key);
  }
  ask("cmd=kvs-fence-response;rc=0;", "cmd=kvs-fence;");
  end2();
}

static void mixed_pmi1(void) {
  char key[32], job[300];
  ask_line("cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0",
           "cmd=init pmi_version=1 pmi_subversion=1\n");
  ask_line(NULL, "cmd=get_my_kvsname\n");
  snprintf(job, sizeof job, "%s", strstr(answer, "kvsname=") + 8);
  key_of(key, self.rank);
  ask_line("cmd=put_result rc=0 msg=success",
           "cmd=put kvsname=%s key=%s value=v %s\n", job, key, key);
  ask_line("cmd=barrier_out", "cmd=barrier_in\n");
  for (unsigned r = 0; r < size; ++r) {
    char want[128];
    key_of(key, r);
    sprintf(want, "cmd=get_result rc=0 msg=success value=v %s", key);
    ask_line(want, "cmd=get kvsname=%s key=%s\n", job, key);
  }
  ask_line("cmd=barrier_out", "cmd=barrier_in\n");
  ask_line("cmd=finalize_ack", "cmd=finalize\n");
}

static void mixed_pmix(void) {
  char key[32], want_text[64];
  check(PMIx_Init(&self, NULL, 0), "init");
  key_of(key, self.rank);
  snprintf(want_text, sizeof want_text, "v %s", key);
  pmix_value_t value;
  PMIX_VALUE_LOAD(&value, want_text, PMIX_STRING);
  check(PMIx_Put(PMIX_GLOBAL, key, &value), "put");
  PMIX_VALUE_DESTRUCT(&value);
  check(PMIx_Commit(), "commit");
  fence(1);
  for (unsigned r = 0; r < size; ++r) {
    pmix_proc_t proc = self;
    pmix_value_t *found = NULL;
    proc.rank = r;
    key_of(key, r);
    check(PMIx_Get(&proc, key, NULL, 0, &found), key);
    snprintf(want_text, sizeof want_text, "v %s", key);
    if (found->type != PMIX_STRING ||
        strcmp(found->data.string, want_text) != 0) {
      fail("PMIx has another value");
    }
    PMIX_VALUE_RELEASE(found);
  }
  fence(0);
  check(PMIx_Finalize(NULL, 0), "finalize");
}

static void await(const char *directory, const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  while (access(path, F_OK) != 0) usleep(5000);
}

/* Rank 1 violates the protocol and is disconnected; the others are not
 * affected. */
static void bad(const char *nonsense, const char *directory) {
  begin2();
  if (self.rank == 1) {
    char byte;
    put_bytes(nonsense, strlen(nonsense));
    if (read(fd, &byte, 1) > 0) fail("it goes on");
    puts("is closed");
    fflush(stdout);
    await(directory, "go2");
    return;
  }
  ask("cmd=kvs-put-response;thrid=1;rc=4;errmsg=bad_key;",
      "cmd=kvs-put;thrid=1;key=pmix.rank;value=v;");
  ask("cmd=dance-response;rc=14;errmsg=not_supported;", "cmd=dance;");
  ask("cmd=kvs-put-response;rc=12;errmsg=malformed;", "cmd=kvs-put;key");
  await(directory, "go1");
  ask("cmd=kvs-put-response;rc=0;", "cmd=kvs-put;key=k;value=v;");
  end2();
  puts("goes on");
  fflush(stdout);
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  fd = atoi(getenv("PMI_FD"));
  self.rank = atoi(getenv("PMI_RANK"));
  size = atoi(getenv("PMI_SIZE"));
  if (strcmp(argv[1], "forms") == 0) {
    forms();
  } else if (strcmp(argv[1], "bad") == 0) {
    bad(argv[2], argv[3]);
  } else if (self.rank % 3 == 0) {
    mixed_pmi2();
  } else if (self.rank % 3 == 1) {
    mixed_pmi1();
  } else {
    mixed_pmix();
  }
  printf("%s %u ok\n", argv[1], self.rank);
  return 0;
}
