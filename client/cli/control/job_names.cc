#include "client/cli/control/job_names.h"

#include <signal.h>
#include <string.h>

#include <algorithm>

#include "common/string_util.h"

namespace canopy::cli {

Result<std::string> ChooseJob(std::span<const std::string> names,
                              const std::string& word) {
  if (std::ranges::count(names, word) > 0) return word;
  std::vector<std::string> found;
  for (const std::string& name : names) {
    if (!word.empty() && name.ends_with("-" + word)) found.push_back(name);
  }
  if (found.size() == 1) return found[0];
  if (found.size() > 1) {
    return Status(kErrBadParam, "'" + word + "' can mean " + Join(found, ", "));
  }
  return Status(
      kErrNotFound,
      "there is no job '" + word + "'; " +
          (names.empty() ? "none runs" : "there are: " + Join(names, ", ")));
}

Result<std::string> ChooseJob(const control::v1::ListJobsReply& jobs,
                              const std::string& word) {
  const std::vector<std::string> names = NamesOf(jobs);
  std::vector<std::string> called;
  for (const auto& job : jobs.jobs()) {
    if (!word.empty() && job.name() == word) called.push_back(job.nspace());
  }
  if (called.empty() || std::ranges::count(names, word) > 0) {
    return ChooseJob(names, word);
  }
  if (called.size() == 1) return called[0];
  return Status(kErrBadParam, "'" + word + "' can mean " + Join(called, ", "));
}

std::vector<std::string> NamesOf(const control::v1::ListJobsReply& jobs) {
  std::vector<std::string> names;
  for (const auto& job : jobs.jobs()) names.push_back(job.nspace());
  return names;
}

Result<std::vector<std::string>> JobNames(ControlClient* client) {
  const auto jobs = client->ListJobs();
  if (!jobs.ok()) return jobs.status();
  return NamesOf(*jobs);
}

std::optional<int> ParseSignal(const std::string& word) {
  constexpr uint32_t kLastSignal = 64;
  if (const auto number = ParseNumber(word, kLastSignal)) {
    return *number > 0 ? std::optional<int>(static_cast<int>(*number))
                       : std::nullopt;
  }
  std::string name = word;
  for (char& c : name) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  if (name.starts_with("SIG")) name = name.substr(3);
  for (int number = 1; number < NSIG; ++number) {
    const char* const known = sigabbrev_np(number);
    if (known != nullptr && name == known) return number;
  }
  return std::nullopt;
}

std::string SignalName(int signal) {
  const char* const name = sigabbrev_np(signal);
  return name == nullptr ? std::to_string(signal) : "SIG" + std::string(name);
}

}  // namespace canopy::cli
