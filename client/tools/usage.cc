#include "client/tools/usage.h"

#include <cstddef>
#include <span>
#include <string_view>

#include "client/tools/calls.h"
#include "pmix.h"

namespace canopy::tools {
namespace {

// Owns the results of PMIx_Process_monitor for the statistics of `keys`.
class Sample {
 public:
  Sample(const char* kind, const std::vector<const char*>& keys,
         const Infos& targets) {
    Infos wanted;
    for (const char* key : keys) wanted.AddFlag(key);
    pmix_data_array_t array = {PMIX_INFO, wanted.size(), wanted.data()};
    Infos what;
    what.Add(kind, &array, PMIX_DATA_ARRAY);
    if (PMIx_Process_monitor(what.data(), PMIX_SUCCESS, targets.data(),
                             targets.size(), &infos_,
                             &count_) != PMIX_SUCCESS) {
      count_ = 0;
    }
  }
  ~Sample() {
    if (infos_ != nullptr) PMIX_INFO_FREE(infos_, count_);
  }
  Sample(const Sample&) = delete;
  Sample& operator=(const Sample&) = delete;

  size_t size() const { return count_; }
  // Returns the statistics of one process or node.
  std::span<const pmix_info_t> At(size_t i) const {
    const pmix_value_t& value = infos_[i].value;
    if (value.type != PMIX_DATA_ARRAY || value.data.darray == nullptr ||
        value.data.darray->type != PMIX_INFO) {
      return {};
    }
    return {static_cast<const pmix_info_t*>(value.data.darray->array),
            value.data.darray->size};
  }

 private:
  pmix_info_t* infos_ = nullptr;
  size_t count_ = 0;
};

double FloatOf(const pmix_info_t& info) {
  return info.value.type == PMIX_FLOAT ? info.value.data.fval : 0;
}

std::string TextIn(const pmix_info_t& info) {
  const bool is_text =
      info.value.type == PMIX_STRING && info.value.data.string != nullptr;
  return is_text ? info.value.data.string : "";
}

void Read(const pmix_info_t& info, pmix_rank_t* rank, ProcessUsage* out) {
  const std::string_view key = info.key;
  if (key == PMIX_PROCID && info.value.type == PMIX_PROC) {
    *rank = info.value.data.proc->rank;
  } else if (key == PMIX_HOSTNAME) {
    out->node = TextIn(info);
  } else if (key == PMIX_PROC_OS_STATE) {
    const std::string state = TextIn(info);
    out->os_state = state.empty() ? '\0' : state[0];
  } else if (key == PMIX_PROC_TIME && info.value.type == PMIX_TIMEVAL) {
    out->cpu_seconds = static_cast<double>(info.value.data.tv.tv_sec) +
                       static_cast<double>(info.value.data.tv.tv_usec) / 1e6;
  } else if (key == PMIX_PROC_RSS) {
    out->memory_mb = FloatOf(info);
  }
}

void Read(const pmix_info_t& info, NodeUsage* out) {
  const std::string_view key = info.key;
  if (key == PMIX_HOSTNAME) {
    out->node = TextIn(info);
  } else if (key == PMIX_NODE_LOAD_AVG) {
    out->load = FloatOf(info);
  } else if (key == PMIX_NODE_MEM_TOTAL) {
    out->memory_total_mb = FloatOf(info);
  } else if (key == PMIX_NODE_MEM_FREE || key == PMIX_NODE_MEM_BUFFERS ||
             key == PMIX_NODE_MEM_CACHED) {
    out->memory_free_mb += FloatOf(info);
  }
}

}  // namespace

std::map<pmix_rank_t, ProcessUsage> UsageOfJob(const std::string& nspace) {
  pmix_proc_t all;
  PMIX_PROC_LOAD(&all, nspace.c_str(), PMIX_RANK_WILDCARD);
  pmix_data_array_t procs = {PMIX_PROC, 1, &all};
  Infos targets;
  targets.Add(PMIX_MONITOR_TARGET_PROCS, &procs, PMIX_DATA_ARRAY);
  const Sample sample(PMIX_MONITOR_PROC_RESOURCE_USAGE,
                      {PMIX_PROC_OS_STATE, PMIX_PROC_TIME, PMIX_PROC_RSS},
                      targets);
  std::map<pmix_rank_t, ProcessUsage> usage;
  for (size_t i = 0; i < sample.size(); ++i) {
    pmix_rank_t rank = PMIX_RANK_INVALID;
    ProcessUsage one;
    for (const pmix_info_t& info : sample.At(i)) Read(info, &rank, &one);
    if (rank <= PMIX_RANK_VALID) usage[rank] = one;
  }
  return usage;
}

std::vector<NodeUsage> UsageOfNodes(const std::vector<std::string>& nodes) {
  std::vector<char*> names;
  for (const std::string& node : nodes) {
    names.push_back(const_cast<char*>(node.c_str()));
  }
  pmix_data_array_t array = {PMIX_STRING, names.size(), names.data()};
  Infos targets;
  targets.Add(PMIX_MONITOR_TARGET_NODES, &array, PMIX_DATA_ARRAY);
  const Sample sample(
      PMIX_MONITOR_NODE_RESOURCE_USAGE,
      {PMIX_NODE_LOAD_AVG, PMIX_NODE_MEM_TOTAL, PMIX_NODE_MEM_FREE,
       PMIX_NODE_MEM_BUFFERS, PMIX_NODE_MEM_CACHED},
      targets);
  std::vector<NodeUsage> usage;
  for (size_t i = 0; i < sample.size(); ++i) {
    NodeUsage one;
    for (const pmix_info_t& info : sample.At(i)) Read(info, &one);
    usage.push_back(std::move(one));
  }
  return usage;
}

}  // namespace canopy::tools
