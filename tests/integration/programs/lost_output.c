/* A tool that pulls the output of a job until it can no longer be read.
 *
 *   lost_output PID NSPACE
 *
 * It connects to the agent with that pid, and shows the standard output of the
 * job's processes. The event PMIX_ERR_IOF_FAILURE, which names the processes
 * whose output is lost, ends it with 0. */
#define _GNU_SOURCE
#include <pmix_tool.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "pmix_check.h"

enum { kSeconds = 60 };

static pmix_proc_t job;
static atomic_bool over;

static void show(size_t id, pmix_iof_channel_t channel, pmix_proc_t *source,
                 pmix_byte_object_t *bytes, pmix_info_t info[], size_t ninfo) {
  (void)id, (void)channel, (void)source, (void)info, (void)ninfo;
  fwrite(bytes->bytes, 1, bytes->size, stdout);
  fflush(stdout);
}

static void on_failure(size_t id, pmix_status_t status,
                       const pmix_proc_t *source, pmix_info_t info[],
                       size_t ninfo, pmix_info_t results[], size_t nresults,
                       pmix_event_notification_cbfunc_fn_t done, void *cbdata) {
  (void)id, (void)source, (void)results, (void)nresults;
  bool ours = false, output = false;
  const char *why = "nothing";
  for (size_t i = 0; i < ninfo; ++i) {
    const pmix_value_t *value = &info[i].value;
    if (PMIX_CHECK_KEY(&info[i], PMIX_EVENT_AFFECTED_PROC)) {
      ours |= PMIX_CHECK_PROCID(value->data.proc, &job);
    } else if (PMIX_CHECK_KEY(&info[i], "canopy.iof.channels")) {
      output = value->data.uint16 == PMIX_FWD_STDOUT_CHANNEL;
    } else if (PMIX_CHECK_KEY(&info[i], "canopy.iof.status")) {
      why = PMIx_Error_string(value->data.status);
    }
  }
  printf("%s: of the job %d, of its output %d, because of %s\n",
         PMIx_Error_string(status), ours, output, why);
  fflush(stdout);
  done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, cbdata);
  over = true;
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  const pid_t agent = atoi(argv[1]);
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_SERVER_PIDINFO, &agent, PMIX_PID);
  check(PMIx_tool_init(&self, &info, 1), "PMIx_tool_init");
  PMIX_LOAD_PROCID(&job, argv[2], PMIX_RANK_WILDCARD);
  pmix_status_t failure = PMIX_ERR_IOF_FAILURE;
  if (PMIx_Register_event_handler(&failure, 1, NULL, 0, on_failure, NULL,
                                  NULL) < 0) {
    return 3;
  }
  if (PMIx_IOF_pull(&job, 1, NULL, 0, PMIX_FWD_STDOUT_CHANNEL, show, NULL,
                    NULL) < 0) {
    return 4;
  }
  for (int i = 0; i < kSeconds * 100 && !over; ++i) usleep(10000);
  if (!over) return 5;
  check(PMIx_tool_finalize(), "PMIx_tool_finalize");
  return 0;
}
