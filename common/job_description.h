// The fields of a job request with their numbers (common/describe.h). A number
// is never used for another field. Everything that carries a request, or a part
// of it, uses these descriptions: the request of a launcher, the job that the
// agents get, and the shim's part of it.
#ifndef CANOPY_COMMON_JOB_DESCRIPTION_H_
#define CANOPY_COMMON_JOB_DESCRIPTION_H_

#include <string>
#include <string_view>

#include "common/describe.h"
#include "common/describe_procs.h"
#include "common/job_request.h"
#include "common/status.h"

namespace canopy {

template <typename V>
void Describe(V& v, wire::Is<Host> auto& m) {
  v.Field(1, m.name);
  v.Field(2, m.slots);
  v.Field(3, m.slots_given);
}

template <typename V>
void Describe(V& v, wire::Is<JobApp> auto& m) {
  v.Field(1, m.cmd);
  v.Field(2, m.argv);
  v.Field(3, m.env);
  v.Field(4, m.cwd);
  v.Field(5, m.num_procs);
  v.Field(6, m.pset);
  v.Field(7, m.merge_stderr);
  v.Field(8, m.hosts);
  v.Field(9, m.preload_program);
  v.Field(10, m.preload_files);
}

template <typename V>
void Describe(V& v, wire::Is<JobPlaces> auto& m) {
  v.Field(1, m.hosts);
  v.Field(2, m.map_by);
  v.Field(3, m.rank_by);
  v.Field(4, m.bind_to);
  v.Field(5, m.oversubscribe);
  v.Field(6, m.no_local);
  v.Field(7, m.tool);
  v.Field(8, m.cpu_list);
  v.Field(9, m.waits);
  v.Field(10, m.gpus_per_proc);
  v.Field(11, m.memory_per_proc);
}

template <typename V>
void Describe(V& v, wire::Is<NiceValue> auto& m) {
  v.Field(1, m.value);
}

template <typename V>
void Describe(V& v, wire::Is<ResourceLimit> auto& m) {
  v.Field(1, m.resource);
  v.Field(2, m.soft);
}

template <typename V>
void Describe(V& v, wire::Is<ProcessPolicies> auto& m) {
  v.Field(1, m.index_argv);
  v.Field(2, m.nice);
  v.Field(3, m.umask);
  v.Field(4, m.limits);
}

template <typename V>
void Describe(V& v, wire::Is<JobForwarding> auto& m) {
  v.Field(1, m.channels);
  v.Field(2, m.cache_size);
  v.Field(3, m.keeps_oldest);
  v.Field(4, m.input);
}

template <typename V>
void Describe(V& v, wire::Is<JobDebug> auto& m) {
  v.Field(1, m.on_exec);
  v.Field(2, m.in_init);
  v.Field(3, m.in_app);
  v.Field(4, m.target);
}

template <typename V>
void Describe(V& v, wire::Is<DebugDaemons> auto& m) {
  v.Field(1, m.target);
  v.Field(2, m.per_node);
  v.Field(3, m.per_proc);
}

template <typename V>
void Describe(V& v, wire::Is<JobPriority> auto& m) {
  v.Field(1, m.value);
}

template <typename V>
void Describe(V& v, wire::Is<SchedulerHints> auto& m) {
  v.Field(1, m.queue);
  v.Field(2, m.account);
  v.Field(3, m.priority);
  v.Field(4, m.others);
}

template <typename V>
void Describe(V& v, wire::Is<JobRequest> auto& m) {
  v.Field(1, m.apps);
  v.Field(2, m.env);
  v.Field(3, m.cwd);
  v.Field(4, m.name);
  v.Field(5, m.places);
  v.Field(6, m.process);
  v.Choice(7, m.inject, Inject::kNever);
  v.Field(8, m.torch_env);
  v.Field(9, m.merge_stderr);
  v.Choice(10, m.stdin_target, StdinTarget::kAll);
  v.Field(11, m.stdin_rank);
  v.Field(12, m.forwarding);
  v.Field(13, m.timeout_seconds);
  v.Field(14, m.kill_grace_seconds);
  v.Field(15, m.max_restarts);
  v.Field(16, m.recoverable);
  v.Field(17, m.reports);
  v.Field(18, m.debug);
  v.Field(19, m.daemons);
  v.Field(20, m.hints);
}

// Encodes the request as bytes (common/describe.h). DecodeJobRequest returns
// kErrUnpackFailure for malformed bytes and kErrBadParam for values that no
// request has.
std::string EncodeJobRequest(const JobRequest& request);
Result<JobRequest> DecodeJobRequest(std::string_view bytes);

}  // namespace canopy

#endif  // CANOPY_COMMON_JOB_DESCRIPTION_H_
