#include "server/core/query/process_memory.h"

#include <algorithm>

#include "pmix_common.h"

namespace canopy::core {

Value Megabytes(uint64_t bytes) {
  constexpr float kMegabyte = 1 << 20;
  return Value::Float(static_cast<float>(bytes) / kMegabyte);
}

void ProcessMemory::Add(const Job& job, const ProcessFacts& process) {
  if (process.resident == 0) return;
  const JobNode& node = job.spec->nodes[job.spec->procs[process.rank].node];
  processes_.push_back({{job.nspace(), process.rank}, &node, process.resident});
  sum_ += process.resident;
}

Value ProcessMemory::Report(bool average, bool minmax) const {
  if (processes_.empty()) return {};
  InfoList report;
  if (average) {
    report.Add(PMIX_CLIENT_AVG_MEMORY, Megabytes(sum_ / processes_.size()));
  }
  if (minmax) {
    const auto [least, most] =
        std::ranges::minmax_element(processes_, {}, &One::resident);
    Add(*least, &report);
    Add(*most, &report);
  } else if (!average) {
    for (const One& one : processes_) Add(one, &report);
  }
  return Value::InfoArray(report);
}

void ProcessMemory::Add(const One& one, InfoList* report) {
  const InfoList process{{PMIX_PROCID, Value::Proc(one.proc)},
                         {PMIX_HOSTNAME, Value::String(one.node->name)},
                         {PMIX_PROC_RSS, Megabytes(one.resident)}};
  report->Add(PMIX_PROC_INFO_ARRAY, Value::InfoArray(process));
}

}  // namespace canopy::core
