// The commands procs, query and event.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "client/tools/calls.h"
#include "client/tools/commands.h"

namespace canopy::tools {
namespace {

pmix_rank_t RankOf(const std::string& text) {
  return text.empty()
             ? PMIX_RANK_WILDCARD
             : static_cast<pmix_rank_t>(strtoul(text.c_str(), nullptr, 10));
}

void PrintRow(const std::string& nspace, const pmix_proc_info_t& row) {
  printf("%-20s %6u %8d  %-16s %-26s %s\n", nspace.c_str(), row.proc.rank,
         static_cast<int>(row.pid),
         row.hostname == nullptr ? "?" : row.hostname,
         PMIx_Proc_state_string(row.state),
         row.executable_name == nullptr ? "?" : row.executable_name);
}

}  // namespace

int PrintProcesses(Words nspaces) {
  printf("%-20s %6s %8s  %-16s %-26s %s\n", "JOB", "RANK", "PID", "NODE",
         "STATE", "PROGRAM");
  for (const std::string& nspace : nspaces) {
    Answers owner;
    std::vector<pmix_proc_info_t> rows;
    const pmix_status_t status = ProcessesOf(nspace, &rows, &owner);
    if (status != PMIX_SUCCESS) return Fail(nspace, status);
    for (const pmix_proc_info_t& row : rows) PrintRow(nspace, row);
  }
  return 0;
}

int Procs(Words words) { return PrintProcesses(words); }

int Table(Words words) {
  Answers owner;
  std::vector<pmix_proc_info_t> rows;
  const pmix_status_t status = ProcessesOf(words[0], &rows, &owner);
  if (status != PMIX_SUCCESS) return Fail(words[0], status);
  for (const pmix_proc_info_t& row : rows) {
    printf("%u\t%d\t%s\t%s\n", row.proc.rank, static_cast<int>(row.pid),
           row.hostname, row.executable_name);
  }
  return 0;
}

int Query(Words words) {
  Infos qualifiers;
  if (!words[0].empty()) {
    qualifiers.AddText(PMIX_NSPACE, words[0]);
    const pmix_rank_t rank = RankOf(words[1]);
    if (!words[1].empty()) qualifiers.Add(PMIX_RANK, &rank, PMIX_PROC_RANK);
  }
  std::vector<std::string> keys;
  for (const std::string& word : words.subspan(2)) keys.push_back(KeyOf(word));
  Answers answers;
  const pmix_status_t status = Ask(keys, &qualifiers, &answers);
  for (size_t i = 0; i < answers.count; ++i) {
    const pmix_info_t& info = answers.infos[i];
    printf("%s: %s\n", NameOf(info.key).c_str(), TextOf(info.value).c_str());
  }
  return status == PMIX_SUCCESS ? 0 : Fail("query", status);
}

int Event(Words words) {
  pmix_status_t code = 0;
  if (!ReadEvent(words[2], &code)) {
    Complain("'" + words[2] + "' is no event");
    return kExitUsage;
  }
  Infos infos;
  pmix_data_range_t range = PMIX_RANGE_SESSION;
  pmix_proc_t to;
  if (!words[0].empty()) {
    PMIX_PROC_LOAD(&to, words[0].c_str(), RankOf(words[1]));
    range = PMIX_RANGE_CUSTOM;
    infos.Add(PMIX_EVENT_CUSTOM_RANGE, &to, PMIX_PROC);
  }
  // A default handler may treat any event as a failure, so the event is not for
  // default handlers.
  infos.AddFlag(PMIX_EVENT_NON_DEFAULT);
  if (!words[3].empty()) infos.AddText(PMIX_EVENT_TEXT_MESSAGE, words[3]);
  const pmix_status_t status = PMIx_Notify_event(
      code, nullptr, range, infos.data(), infos.size(), nullptr, nullptr);
  return status == PMIX_SUCCESS ? 0 : Fail("event", status);
}

}  // namespace canopy::tools
