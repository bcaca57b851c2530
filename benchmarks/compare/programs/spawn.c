/* spawn N COUNT: COUNT times, one process spawns N processes and connects with
 * them. Reports medians in milliseconds: of the spawn alone, and of the spawn
 * with the connect, after which all processes are initialised and connected.
 * Also reports the median, in microseconds, of a connect and disconnect of the
 * two jobs afterwards. The spawned program is "spawn child NAMESPACE", because
 * not every launcher provides the parent's name to its children. */
#include <pmix.h>
#include <string.h>

#include "measure.h"

enum { CONNECTS = 20 };

static pmix_proc_t me;
static pmix_proc_t members[2]; /* the parent, and all of the child job */

static void Connect(void) {
  Require(PMIx_Connect(members, 2, NULL, 0), "PMIx_Connect");
}

static void Disconnect(void) {
  Require(PMIx_Disconnect(members, 2, NULL, 0), "PMIx_Disconnect");
}

static double *connects;
static size_t num_connects;

static void ConnectAgain(void) {
  for (int i = 0; i < CONNECTS; ++i) {
    const double start = NowUs();
    Connect();
    Disconnect();
    connects[num_connects++] = NowUs() - start;
  }
}

static int Child(const char *parent) {
  connects = calloc(CONNECTS, sizeof *connects);
  PMIX_LOAD_PROCID(&members[0], parent, 0);
  PMIX_LOAD_PROCID(&members[1], me.nspace, PMIX_RANK_WILDCARD);
  Connect();
  Disconnect();
  ConnectAgain();
  return PMIx_Finalize(NULL, 0);
}

static void SpawnOne(char *program, int n, double *spawn_ms, double *both_ms) {
  pmix_app_t app;
  pmix_nspace_t job;
  char *child[] = {program, "child", me.nspace, NULL};
  PMIX_APP_CONSTRUCT(&app);
  app.cmd = program;
  app.argv = child;
  app.maxprocs = n;
  const double start = NowUs();
  Require(PMIx_Spawn(NULL, 0, &app, 1, job), "PMIx_Spawn");
  *spawn_ms = (NowUs() - start) / 1e3;
  members[0] = me;
  PMIX_LOAD_PROCID(&members[1], job, PMIX_RANK_WILDCARD);
  Connect();
  *both_ms = (NowUs() - start) / 1e3;
  Disconnect();
  ConnectAgain();
}

static void Parent(char *program, int n, int count) {
  double *spawn_ms = calloc((size_t)count, sizeof *spawn_ms);
  double *both_ms = calloc((size_t)count, sizeof *both_ms);
  connects = calloc((size_t)count * CONNECTS, sizeof *connects);
  for (int i = 0; i < count; ++i) {
    SpawnOne(program, n, &spawn_ms[i], &both_ms[i]);
  }
  Report("spawn_ms", Quantile(spawn_ms, (size_t)count, 0.5));
  Report("connected_ms", Quantile(both_ms, (size_t)count, 0.5));
  Report("connect_us", Quantile(connects, num_connects, 0.5));
}

int main(int argc, char **argv) {
  Require(PMIx_Init(&me, NULL, 0), "PMIx_Init");
  if (argc > 2 && strcmp(argv[1], "child") == 0) return Child(argv[2]);
  Parent(argv[0], argc > 1 ? atoi(argv[1]) : 1, argc > 2 ? atoi(argv[2]) : 10);
  return PMIx_Finalize(NULL, 0);
}
