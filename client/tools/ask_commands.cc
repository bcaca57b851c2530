// The commands procs, usage, query and event.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "client/cli/base/json.h"
#include "client/tools/calls.h"
#include "client/tools/commands.h"
#include "client/tools/process_state.h"
#include "client/tools/usage.h"
#include "client/tools/value_json.h"
#include "common/string_util.h"

namespace canopy::tools {
namespace {

pmix_rank_t RankOf(const std::string& text) {
  return text.empty()
             ? PMIX_RANK_WILDCARD
             : static_cast<pmix_rank_t>(strtoul(text.c_str(), nullptr, 10));
}

// Returns the value as text. For a list of keys, the text has the names of the
// attributes, which users type.
std::string ResultText(const pmix_info_t& info) {
  if (!PMIX_CHECK_KEY(&info, PMIX_QUERY_SUPPORTED_KEYS) &&
      !PMIX_CHECK_KEY(&info, PMIX_QUERY_SUPPORTED_QUALIFIERS)) {
    return TextOf(info.value);
  }
  std::vector<std::string> names;
  for (const std::string& key : Split(TextOf(info.value), ',')) {
    names.push_back(NameOf(key.c_str()));
  }
  return Join(names, ", ");
}

// Returns the names of the keys without a result.
std::vector<std::string> MissingKeys(const std::vector<std::string>& keys,
                                     const Answers& answers) {
  std::vector<std::string> missing;
  for (const std::string& key : keys) {
    bool found = false;
    for (size_t i = 0; i < answers.count; ++i) {
      found = found || PMIX_CHECK_KEY(&answers.infos[i], key.c_str());
    }
    if (!found) missing.push_back(NameOf(key.c_str()));
  }
  return missing;
}

// The processes of a job, and the kernel's view of them.
struct Rows {
  Answers owner;
  std::vector<pmix_proc_info_t> rows;
  std::map<pmix_rank_t, ProcessUsage> usage;

  pmix_status_t Read(const std::string& nspace) {
    const pmix_status_t status = ProcessesOf(nspace, &rows, &owner);
    if (status == PMIX_SUCCESS && !rows.empty()) usage = UsageOfJob(nspace);
    return status;
  }
  std::string State(const pmix_proc_info_t& row) const {
    const auto one = usage.find(row.proc.rank);
    return StateText(row, one == usage.end() ? '\0' : one->second.os_state);
  }
};

void PrintRow(const std::string& nspace, const Rows& rows,
              const pmix_proc_info_t& row) {
  printf("%-20s %6u %8d  %-16s %-10s %s\n", nspace.c_str(), row.proc.rank,
         static_cast<int>(row.pid),
         row.hostname == nullptr ? "?" : row.hostname, rows.State(row).c_str(),
         row.executable_name == nullptr ? "?" : row.executable_name);
}

cli::Json RowJson(const std::string& nspace, const Rows& rows,
                  const pmix_proc_info_t& row) {
  cli::Json out;
  out["job"] = nspace;
  out["rank"] = row.proc.rank;
  out["node"] = row.hostname == nullptr ? "" : row.hostname;
  out["pid"] = static_cast<int>(row.pid);
  out["state"] = rows.State(row);
  out["exit_code"] = row.exit_code;
  out["program"] = row.executable_name == nullptr ? "" : row.executable_name;
  return out;
}

int PrintProcessesAsJson(Words nspaces) {
  cli::Json document;
  document["processes"] = cli::Json::array();
  for (const std::string& nspace : nspaces) {
    Rows rows;
    const pmix_status_t status = rows.Read(nspace);
    if (status != PMIX_SUCCESS) return Fail(nspace, status);
    for (const pmix_proc_info_t& row : rows.rows) {
      document["processes"].push_back(RowJson(nspace, rows, row));
    }
  }
  return PrintDocument(document, PMIX_SUCCESS);
}

cli::Json UsageOf(const std::string& nspace) {
  cli::Json job;
  job["job"] = nspace;
  double seconds = 0;
  double memory = 0;
  const auto usage = UsageOfJob(nspace);
  for (const auto& [rank, one] : usage) {
    seconds += one.cpu_seconds;
    memory += one.memory_mb;
  }
  job["processes"] = usage.size();
  job["cpu_seconds"] = seconds;
  job["memory_mb"] = memory;
  return job;
}

cli::Json UsageOf(const NodeUsage& usage) {
  cli::Json node;
  node["node"] = usage.node;
  node["load"] = usage.load;
  node["memory_mb"] = usage.memory_total_mb;
  node["memory_free_mb"] = usage.memory_free_mb;
  return node;
}

// Returns the error for keys without an answer: a key of PMIx may have an
// answer later, a word that is not a key never has one.
std::string NoAnswerText(const std::vector<std::string>& missing) {
  std::vector<std::string> known;
  std::vector<std::string> unknown;
  for (const std::string& name : missing) {
    (KeyOf(name) == name ? unknown : known).push_back(name);
  }
  std::string text;
  if (!known.empty()) {
    text = "there is nothing to report now for " + Join(known, ", ");
  }
  if (unknown.empty()) return text;
  return text + (text.empty() ? "" : "; ") + "unknown key" +
         (unknown.size() > 1 ? "s " : " ") + Join(unknown, ", ") +
         "; 'canopy query PMIX_QUERY_SUPPORTED_KEYS' lists the keys that can "
         "be queried";
}

// Prints the results that there are, and the keys that have none.
int PrintResults(const std::vector<std::string>& keys, const Answers& answers,
                 pmix_status_t status) {
  cli::Json document;
  document["results"] = cli::Json::array();
  for (size_t i = 0; i < answers.count; ++i) {
    cli::Json result;
    result["key"] = NameOf(answers.infos[i].key);
    result["value"] = ValueJson(answers.infos[i].value);
    document["results"].push_back(std::move(result));
  }
  document["missing"] = MissingKeys(keys, answers);
  AddStatus(status, &document);
  return PrintDocument(document, status);
}

}  // namespace

int PrintProcesses(Words nspaces) {
  printf("%-20s %6s %8s  %-16s %-10s %s\n", "JOB", "RANK", "PID", "NODE",
         "STATE", "PROGRAM");
  for (const std::string& nspace : nspaces) {
    Rows rows;
    const pmix_status_t status = rows.Read(nspace);
    if (status != PMIX_SUCCESS) return Fail(nspace, status);
    for (const pmix_proc_info_t& row : rows.rows) PrintRow(nspace, rows, row);
  }
  return 0;
}

int Procs(Words words, Format format) {
  return format == Format::kJson ? PrintProcessesAsJson(words)
                                 : PrintProcesses(words);
}

int Usage(Words words, Format /*format*/) {
  std::vector<std::string> names;
  const pmix_status_t status = Namespaces(&names);
  if (status != PMIX_SUCCESS) return Fail("jobs", status);
  cli::Json document;
  document["nodes"] = cli::Json::array();
  for (const NodeUsage& node : UsageOfNodes({words.begin(), words.end()})) {
    document["nodes"].push_back(UsageOf(node));
  }
  document["jobs"] = cli::Json::array();
  for (const std::string& name : names) {
    document["jobs"].push_back(UsageOf(name));
  }
  return PrintDocument(document, PMIX_SUCCESS);
}

int Table(Words words, Format /*format*/) {
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

int Query(Words words, Format format) {
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
  if (format == Format::kJson) return PrintResults(keys, answers, status);
  for (size_t i = 0; i < answers.count; ++i) {
    const pmix_info_t& info = answers.infos[i];
    printf("%s: %s\n", NameOf(info.key).c_str(), ResultText(info).c_str());
  }
  if (status == PMIX_SUCCESS) return 0;
  const std::vector<std::string> missing = MissingKeys(keys, answers);
  if (status == PMIX_ERR_NOT_FOUND || status == PMIX_ERR_PARTIAL_SUCCESS) {
    Complain(NoAnswerText(missing));
    return kExitFailure;
  }
  return Fail("query " + Join(missing, ", "), status);
}

int Event(Words words, Format format) {
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
  if (format == Format::kText) {
    return status == PMIX_SUCCESS ? 0 : Fail("event", status);
  }
  cli::Json document;
  document["event"] = code;
  document["event_name"] = PMIx_Error_string(code);
  AddStatus(status, &document);
  return PrintDocument(document, status);
}

}  // namespace canopy::tools
