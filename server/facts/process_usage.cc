#include "server/facts/process_usage.h"

#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "common/codec/infos.h"
#include "common/string_util.h"
#include "common/values/info_list.h"
#include "common/values/value.h"
#include "pmix_common.h"
#include "server/core/step/usage_keys.h"

namespace canopy::facts {
namespace {

constexpr size_t kMaxProcessFile = 16384;
constexpr uint64_t kMicroseconds = 1000 * 1000;

// The fields of /proc/PID/stat, counted from the state, which follows the name.
enum StatField : size_t {
  kState = 0,
  kUserTime = 11,
  kSystemTime = 12,
  kPriority = 15,
  kNumThreads = 17,
  kStartTime = 19,
  kVirtualBytes = 20,
  kResidentPages = 21,
  kCpu = 36,
};

uint64_t TicksPerSecond() {
  static const long ticks = sysconf(_SC_CLK_TCK);
  return ticks > 0 ? static_cast<uint64_t>(ticks) : 100;
}

float Megabytes(uint64_t bytes) {
  return static_cast<float>(bytes) / kKilobytesPerMegabyte /
         kKilobytesPerMegabyte;
}

Value TimeValue(uint64_t ticks) {
  pmix_value_t value = {};
  value.type = PMIX_TIMEVAL;
  const uint64_t per_second = TicksPerSecond();
  value.data.tv.tv_sec = static_cast<time_t>(ticks / per_second);
  value.data.tv.tv_usec =
      static_cast<suseconds_t>(ticks % per_second * kMicroseconds / per_second);
  return Value::FromC(value);
}

class Process {
 public:
  Process(int pid, uint64_t fields, const std::string& proc)
      : directory_(proc + "/" + std::to_string(pid)),
        fields_(fields),
        stat_text_(ReadProcFile(directory_ + "/stat", kMaxProcessFile)) {
    // The name of the program may contain blanks and parentheses.
    const size_t end = stat_text_.rfind(')');
    if (end == std::string::npos) return;
    stat_ = WordsOf(LineAfter(end));
  }

  bool exists() const { return stat_.size() > kCpu; }

  InfoList Read() {
    AddCommandLine();
    AddStat();
    AddMemory();
    infos_.Add(PMIX_PROC_SAMPLE_TIME, Value::Time(time(nullptr)));
    return std::move(infos_);
  }

 private:
  std::string_view LineAfter(size_t at) const {
    const std::string_view rest = std::string_view(stat_text_).substr(at + 1);
    return rest.substr(0, rest.find('\n'));
  }

  bool Wants(std::string_view key) const {
    return (fields_ & core::UsageBit(core::kProcUsage, key)) != 0;
  }

  void Put(std::string_view key, Value value) {
    if (Wants(key)) infos_.Add(key, std::move(value));
  }

  uint64_t Number(StatField field) const { return NumberIn(stat_[field]); }

  void AddCommandLine() {
    if (!Wants(PMIX_CMD_LINE)) return;
    std::string line = ReadProcFile(directory_ + "/cmdline", kMaxCommandLine);
    while (!line.empty() && line.back() == '\0') line.pop_back();
    std::ranges::replace(line, '\0', ' ');
    if (!line.empty()) infos_.Add(PMIX_CMD_LINE, Value::String(line));
  }

  // Returns the kernel's number of the priority, which may be negative.
  int32_t Priority() const {
    const std::string_view word = stat_[kPriority];
    const bool negative = word.starts_with('-');
    const auto number =
        static_cast<int32_t>(NumberIn(word.substr(negative ? 1 : 0)));
    return negative ? -number : number;
  }

  // Returns the share of one CPU that the process has used since its start, in
  // percent.
  float PercentCpu(uint64_t used) const {
    timespec now = {};
    clock_gettime(CLOCK_BOOTTIME, &now);
    const double ticks = static_cast<double>(TicksPerSecond());
    const double age = static_cast<double>(now.tv_sec) +
                       static_cast<double>(now.tv_nsec) / 1e9 -
                       static_cast<double>(Number(kStartTime)) / ticks;
    if (age <= 0) return 0;
    return static_cast<float>(static_cast<double>(used) / ticks / age * 100);
  }

  void AddStat() {
    const uint64_t used = Number(kUserTime) + Number(kSystemTime);
    Put(PMIX_PROC_OS_STATE, Value::String(stat_[kState]));
    Put(PMIX_PROC_TIME, TimeValue(used));
    Put(PMIX_PROC_PERCENT_CPU, Value::Float(PercentCpu(used)));
    Put(PMIX_PROC_PRIORITY, Value::Int32(Priority()));
    Put(PMIX_PROC_NUM_THREADS,
        Value::Uint16(static_cast<uint16_t>(
            std::min<uint64_t>(Number(kNumThreads), UINT16_MAX))));
    Put(PMIX_PROC_CPU, Value::Uint16(static_cast<uint16_t>(Number(kCpu))));
    Put(PMIX_PROC_VSIZE, Value::Float(Megabytes(Number(kVirtualBytes))));
    Put(PMIX_PROC_RSS, Value::Float(Megabytes(Resident())));
  }

  uint64_t Resident() const {
    return Number(kResidentPages) *
           static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  }

  void AddKilobytes(const char* file, const char* name, const char* key) {
    const auto number =
        NumberOf(ReadProcFile(directory_ + file, kMaxProcessFile), name);
    if (!number) return;
    infos_.Add(
        key, Value::Float(static_cast<float>(*number) / kKilobytesPerMegabyte));
  }

  void AddMemory() {
    if (Wants(PMIX_PROC_PEAK_VSIZE)) {
      AddKilobytes("/status", "VmPeak", PMIX_PROC_PEAK_VSIZE);
    }
    if (Wants(PMIX_PROC_PSS) && Resident() <= kMaxPssBytes) {
      AddKilobytes("/smaps_rollup", "Pss", PMIX_PROC_PSS);
    }
  }

  const std::string directory_;
  const uint64_t fields_;
  const std::string stat_text_;
  std::vector<std::string_view> stat_;
  InfoList infos_;
};

}  // namespace

std::string ProcessUsage(int pid, uint64_t fields, const std::string& proc) {
  std::string encoded;
  Process process(pid, fields, proc);
  if (pid <= 0 || !process.exists()) return encoded;
  const InfoList infos = process.Read();
  if (EncodeInfos(infos.data(), infos.size(), &encoded) != PMIX_SUCCESS) {
    encoded.clear();
  }
  return encoded;
}

}  // namespace canopy::facts
