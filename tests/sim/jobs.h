// Jobs for simulated clusters.
#ifndef CANOPY_TESTS_SIM_JOBS_H_
#define CANOPY_TESTS_SIM_JOBS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/ids.h"
#include "common/job.h"

namespace canopy::sim {

// Returns a job with one application; rank r runs on agent `agents[r]`.
JobSpec MakeJob(const std::string& nspace, const std::vector<NodeId>& agents);
// Returns a job with `per_node` ranks on each of the agents 0 .. nodes-1, by
// slot.
JobSpec MakeJob(const std::string& nspace, uint32_t nodes, uint32_t per_node);

// Every job that was launched, by namespace.
class JobCatalog {
 public:
  void Add(const JobSpec& job) { jobs_[job.nspace] = job; }
  // The job must have been added.
  const JobSpec& Find(const std::string& nspace) const {
    return jobs_.at(nspace);
  }
  // Returns the agent of a rank of a job that was added.
  NodeId NodeOf(const ProcId& proc) const;

 private:
  std::map<std::string, JobSpec> jobs_;
};

}  // namespace canopy::sim

#endif  // CANOPY_TESTS_SIM_JOBS_H_
