#include "client/tools/job_end.h"

#include "client/tools/calls.h"
#include "common/mutex.h"

namespace canopy::tools {
namespace {

// The object is never destroyed, because the handler may be called until the
// library is finalized.
struct Watched {
  Mutex mu;
  CondVar changed;
  std::string nspace CANOPY_GUARDED_BY(mu);
  std::optional<int> code CANOPY_GUARDED_BY(mu);
};

Watched& TheJob() {
  static auto* const watched = new Watched;
  return *watched;
}

// Handles the event of a job's end. The event of a job that has ended well has
// no exit code.
void OnEnd(size_t /*id*/, pmix_status_t /*status*/,
           const pmix_proc_t* /*source*/, pmix_info_t infos[], size_t count,
           pmix_info_t* /*results*/, size_t /*num_results*/,
           pmix_event_notification_cbfunc_fn_t next, void* next_data) {
  Watched& job = TheJob();
  std::string nspace;
  int code = 0;
  for (size_t i = 0; i < count; ++i) {
    const pmix_value_t& value = infos[i].value;
    if (PMIX_CHECK_KEY(&infos[i], PMIX_EVENT_AFFECTED_PROC) &&
        value.type == PMIX_PROC) {
      nspace = value.data.proc->nspace;
    } else if (PMIX_CHECK_KEY(&infos[i], PMIX_EXIT_CODE) &&
               value.type == PMIX_INT) {
      code = value.data.integer;
    }
  }
  {
    const MutexLock lock(job.mu);
    if (nspace == job.nspace) job.code = code;
    job.changed.NotifyAll();
  }
  next(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, next_data);
}

}  // namespace

pmix_status_t WatchEnd(const std::string& nspace) {
  {
    const MutexLock lock(TheJob().mu);
    TheJob().nspace = nspace;
  }
  pmix_status_t code = PMIX_EVENT_JOB_END;
  const pmix_status_t handler = PMIx_Register_event_handler(
      &code, 1, nullptr, 0, OnEnd, nullptr, nullptr);
  return handler < 0 ? handler : PMIX_SUCCESS;
}

std::optional<int> AwaitEnd(std::chrono::milliseconds most) {
  Watched& job = TheJob();
  const auto until = std::chrono::steady_clock::now() + most;
  const MutexLock lock(job.mu);
  while (!job.code && std::chrono::steady_clock::now() < until) {
    job.changed.WaitUntil(job.mu, until);
  }
  return job.code;
}

}  // namespace canopy::tools
