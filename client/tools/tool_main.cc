// What commands ask of the agent of this machine as a tool of PMIx: `canopy
// query`, `canopy event` and `canopy ps --procs`, which start it.
//
// canopy-tool DIRECTORY procs NSPACE...
// canopy-tool DIRECTORY query NSPACE RANK KEY...       NSPACE may be empty,
// canopy-tool DIRECTORY event NSPACE RANK CODE TEXT    RANK and TEXT too
// DIRECTORY is where the agent's rendezvous files are; empty: it is looked for.
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "pmix_tool.h"

namespace canopy::tools {
namespace {

constexpr int kUsage = 2;

using Words = std::span<char* const>;

int Fail(const std::string& what, pmix_status_t status) {
  fprintf(stderr, "canopy: %s: %s\n", what.c_str(), PMIx_Error_string(status));
  return 1;
}

// Infos that are freed in the end.
class Infos {
 public:
  Infos() = default;
  ~Infos() {
    for (pmix_info_t& info : infos_) PMIX_INFO_DESTRUCT(&info);
  }
  Infos(const Infos&) = delete;
  Infos& operator=(const Infos&) = delete;

  void Add(const char* key, const void* value, pmix_data_type_t type) {
    pmix_info_t info;
    PMIX_INFO_CONSTRUCT(&info);
    PMIX_INFO_LOAD(&info, key, value, type);
    infos_.push_back(info);
  }
  pmix_info_t* data() { return infos_.data(); }
  size_t size() const { return infos_.size(); }

 private:
  std::vector<pmix_info_t> infos_;
};

// The answers to one query, freed in the end.
struct Answers {
  ~Answers() {
    if (infos != nullptr) PMIX_INFO_FREE(infos, count);
  }
  pmix_info_t* infos = nullptr;
  size_t count = 0;
};

pmix_rank_t RankOf(const char* text) {
  return *text == 0 ? PMIX_RANK_WILDCARD
                    : static_cast<pmix_rank_t>(strtoul(text, nullptr, 10));
}

pmix_status_t Ask(const std::vector<std::string>& keys, Infos* qualifiers,
                  Answers* answers) {
  pmix_query_t query;
  PMIX_QUERY_CONSTRUCT(&query);
  for (const std::string& key : keys) {
    PMIx_Argv_append_nosize(&query.keys, key.c_str());
  }
  query.qualifiers = qualifiers->data();
  query.nqual = qualifiers->size();
  const pmix_status_t status =
      PMIx_Query_info(&query, 1, &answers->infos, &answers->count);
  query.qualifiers = nullptr;
  query.nqual = 0;
  PMIX_QUERY_DESTRUCT(&query);
  return status;
}

// ---------------------------------------------------------------- procs ---

void PrintRow(const char* nspace, const pmix_proc_info_t& row) {
  printf("%-20s %6u %8d  %-16s %-26s %s\n", nspace, row.proc.rank,
         static_cast<int>(row.pid),
         row.hostname == nullptr ? "?" : row.hostname,
         PMIx_Proc_state_string(row.state),
         row.executable_name == nullptr ? "?" : row.executable_name);
}

int Procs(Words nspaces) {
  printf("%-20s %6s %8s  %-16s %-26s %s\n", "JOB", "RANK", "PID", "NODE",
         "STATE", "PROGRAM");
  for (const char* nspace : nspaces) {
    Infos qualifiers;
    qualifiers.Add(PMIX_NSPACE, nspace, PMIX_STRING);
    Answers answers;
    const pmix_status_t status =
        Ask({PMIX_QUERY_PROC_TABLE}, &qualifiers, &answers);
    // A job may have ended meanwhile.
    if (status == PMIX_ERR_NOT_FOUND) continue;
    if (status != PMIX_SUCCESS) return Fail(nspace, status);
    for (size_t i = 0; i < answers.count; ++i) {
      const pmix_value_t& value = answers.infos[i].value;
      if (value.type != PMIX_DATA_ARRAY) continue;
      const auto* const rows =
          static_cast<const pmix_proc_info_t*>(value.data.darray->array);
      for (size_t k = 0; k < value.data.darray->size; ++k) {
        PrintRow(nspace, rows[k]);
      }
    }
  }
  return 0;
}

// ---------------------------------------------------------------- query ---

void PrintAnswer(const pmix_info_t& info) {
  const char* const name = PMIx_Get_attribute_name(info.key);
  char* const text = PMIx_Value_string(&info.value);
  // Its type comes before it.
  constexpr char kValue[] = "Value: ";
  const char* const value = text == nullptr ? nullptr : strstr(text, kValue);
  printf("%s: %s\n", name == nullptr ? info.key : name,
         value == nullptr ? (text == nullptr ? "?" : text)
                          : value + strlen(kValue));
  free(text);
}

int Query(Words words) {
  Infos qualifiers;
  if (*words[0] != 0) {
    qualifiers.Add(PMIX_NSPACE, words[0], PMIX_STRING);
    const pmix_rank_t rank = RankOf(words[1]);
    if (*words[1] != 0) qualifiers.Add(PMIX_RANK, &rank, PMIX_PROC_RANK);
  }
  std::vector<std::string> keys;
  for (const char* word : words.subspan(2)) {
    const char* const key = PMIx_Get_attribute_string(word);
    keys.emplace_back(key == nullptr ? word : key);
  }
  Answers answers;
  const pmix_status_t status = Ask(keys, &qualifiers, &answers);
  for (size_t i = 0; i < answers.count; ++i) PrintAnswer(answers.infos[i]);
  return status == PMIX_SUCCESS ? 0 : Fail("query", status);
}

// ---------------------------------------------------------------- event ---

// A number, or the name with or without PMIX_.
bool ReadCode(const char* text, pmix_status_t* code) {
  char* end = nullptr;
  errno = 0;
  const long number = strtol(text, &end, 10);
  if (errno == 0 && end != text && *end == 0) {
    *code = static_cast<pmix_status_t>(number);
    return number >= INT32_MIN && number <= INT32_MAX;
  }
  std::string name = text;
  for (const std::string& form : {name, "PMIX_" + name}) {
    *code = PMIx_Error_code(form.c_str());
    if (*code != INT32_MIN) return true;
    // As it is printed.
    std::string printed = form.starts_with("PMIX_") ? form.substr(5) : form;
    std::ranges::replace(printed, '_', '-');
    *code = PMIx_Error_code(printed.c_str());
    if (*code != INT32_MIN) return true;
  }
  return false;
}

int Event(Words words) {
  pmix_status_t code = 0;
  if (!ReadCode(words[2], &code)) {
    fprintf(stderr, "canopy: '%s' is no event\n", words[2]);
    return kUsage;
  }
  Infos infos;
  pmix_data_range_t range = PMIX_RANGE_SESSION;
  pmix_proc_t to;
  if (*words[0] != 0) {
    PMIX_PROC_LOAD(&to, words[0], RankOf(words[1]));
    range = PMIX_RANGE_CUSTOM;
    infos.Add(PMIX_EVENT_CUSTOM_RANGE, &to, PMIX_PROC);
  }
  // A handler for everything takes what it gets for a failure.
  infos.Add(PMIX_EVENT_NON_DEFAULT, nullptr, PMIX_BOOL);
  if (*words[3] != 0) infos.Add(PMIX_EVENT_TEXT_MESSAGE, words[3], PMIX_STRING);
  const pmix_status_t status = PMIx_Notify_event(
      code, nullptr, range, infos.data(), infos.size(), nullptr, nullptr);
  return status == PMIX_SUCCESS ? 0 : Fail("event", status);
}

int Run(const std::string& command, Words words) {
  if (command == "procs") return Procs(words);
  if (command == "query" && words.size() > 2) return Query(words);
  if (command == "event" && words.size() == 4) return Event(words);
  fprintf(stderr, "canopy-tool: started by 'canopy'\n");
  return kUsage;
}

}  // namespace
}  // namespace canopy::tools

int main(int argc, char** argv) {
  using namespace canopy::tools;  // NOLINT
  const Words words(argv, static_cast<size_t>(argc));
  if (words.size() < 3) return Run("", {});
  Infos directives;
  if (*words[1] != 0) {
    directives.Add(PMIX_SERVER_TMPDIR, words[1], PMIX_STRING);
  }
  pmix_proc_t self;
  pmix_status_t status =
      PMIx_tool_init(&self, directives.data(), directives.size());
  if (status != PMIX_SUCCESS) return Fail("no agent of this machine", status);
  const int code = Run(words[2], words.subspan(3));
  status = PMIx_tool_finalize();
  return code != 0 || status == PMIX_SUCCESS ? code : Fail("tool", status);
}
