#include "client/tools/calls.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string_view>

#include "common/string_util.h"

namespace canopy::tools {

void Complain(const std::string& what) {
  fprintf(stderr, "canopy: %s\n", what.c_str());
}

int Fail(const std::string& what, pmix_status_t status) {
  Complain(what + ": " + PMIx_Error_string(status));
  return kExitFailure;
}

int WithOutput(int code) {
  errno = 0;
  if (fflush(stdout) == 0 && ferror(stdout) == 0) return code;
  if (errno != EPIPE) {
    Complain(std::string("cannot write to standard output") +
             (errno == 0 ? "" : ": " + std::string(std::strerror(errno))));
  }
  return kExitFailure;
}

// ------------------------------------------------------------------ infos ---

Infos::~Infos() {
  for (pmix_info_t& info : infos_) PMIX_INFO_DESTRUCT(&info);
}

void Infos::Add(const char* key, const void* value, pmix_data_type_t type) {
  pmix_info_t info;
  PMIX_INFO_CONSTRUCT(&info);
  PMIX_INFO_LOAD(&info, key, value, type);
  infos_.push_back(info);
}

void Infos::AddText(const char* key, const std::string& text) {
  Add(key, text.c_str(), PMIX_STRING);
}

void Infos::RequireAll() {
  for (pmix_info_t& info : infos_) PMIX_INFO_REQUIRED(&info);
}

Answers::~Answers() {
  if (infos != nullptr) PMIX_INFO_FREE(infos, count);
}

// ---------------------------------------------------------------- queries ---

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

std::string KeyOf(const std::string& name_or_key) {
  const char* const key = PMIx_Get_attribute_string(name_or_key.c_str());
  return key == nullptr ? name_or_key : key;
}

std::string NameOf(const char* key) {
  const char* const name = PMIx_Get_attribute_name(key);
  return name == nullptr ? key : name;
}

std::string TextOf(const pmix_value_t& value) {
  char* const text = PMIx_Value_string(&value);
  if (text == nullptr) return "?";
  // The text contains the type and then the value.
  constexpr char kValue[] = "Value: ";
  const char* const start = strstr(text, kValue);
  std::string out = start == nullptr ? text : start + strlen(kValue);
  free(text);
  return out;
}

pmix_status_t Namespaces(std::vector<std::string>* names) {
  Infos none;
  Answers answers;
  const pmix_status_t status = Ask({PMIX_QUERY_NAMESPACES}, &none, &answers);
  // The agent knows no jobs.
  if (status == PMIX_ERR_NOT_FOUND) return PMIX_SUCCESS;
  if (status != PMIX_SUCCESS) return status;
  const pmix_value_t& value = answers.infos[0].value;
  if (value.type != PMIX_STRING) return PMIX_ERR_TYPE_MISMATCH;
  for (const std::string& name : Split(value.data.string, ',')) {
    if (!name.empty()) names->push_back(name);
  }
  return PMIX_SUCCESS;
}

pmix_status_t ProcessesOf(const std::string& nspace,
                          std::vector<pmix_proc_info_t>* rows, Answers* owner) {
  Infos qualifiers;
  qualifiers.AddText(PMIX_NSPACE, nspace);
  const pmix_status_t status = Ask({PMIX_QUERY_PROC_TABLE}, &qualifiers, owner);
  if (status == PMIX_ERR_NOT_FOUND) return PMIX_SUCCESS;
  if (status != PMIX_SUCCESS) return status;
  for (size_t i = 0; i < owner->count; ++i) {
    const pmix_value_t& value = owner->infos[i].value;
    if (value.type != PMIX_DATA_ARRAY) continue;
    const auto* const table =
        static_cast<const pmix_proc_info_t*>(value.data.darray->array);
    rows->insert(rows->end(), table, table + value.data.darray->size);
  }
  return PMIX_SUCCESS;
}

// ------------------------------------------------------------------ words ---

bool ReadEvent(const std::string& text, pmix_status_t* code) {
  char* end = nullptr;
  errno = 0;
  const long number = strtol(text.c_str(), &end, 10);
  if (errno == 0 && end != text.c_str() && *end == 0) {
    *code = static_cast<pmix_status_t>(number);
    return number >= INT32_MIN && number <= INT32_MAX;
  }
  for (const std::string& form : {text, "PMIX_" + text}) {
    *code = PMIx_Error_code(form.c_str());
    if (*code != INT32_MIN) return true;
    // PMIx_Error_code also accepts the text of PMIx_Error_string, which is
    // often the name without PMIX_ and with dashes.
    std::string printed = form.starts_with("PMIX_") ? form.substr(5) : form;
    std::ranges::replace(printed, '_', '-');
    *code = PMIx_Error_code(printed.c_str());
    if (*code != INT32_MIN) return true;
  }
  return false;
}

bool ReadRange(const std::string& text, pmix_data_range_t* range) {
  struct Row {
    std::string_view name;
    pmix_data_range_t range;
  };
  static constexpr Row kRows[] = {
      {"rm", PMIX_RANGE_RM},
      {"local", PMIX_RANGE_LOCAL},
      {"nspace", PMIX_RANGE_NAMESPACE},
      {"namespace", PMIX_RANGE_NAMESPACE},
      {"session", PMIX_RANGE_SESSION},
      {"global", PMIX_RANGE_GLOBAL},
      {"custom", PMIX_RANGE_CUSTOM},
      {"proc_local", PMIX_RANGE_PROC_LOCAL},
  };
  std::string name = text.starts_with("PMIX_RANGE_") ? text.substr(11) : text;
  std::ranges::transform(name, name.begin(), [](unsigned char c) {
    return static_cast<char>(tolower(c));
  });
  const Row* const row = std::ranges::find(kRows, name, &Row::name);
  if (row != std::end(kRows)) {
    *range = row->range;
    return true;
  }
  const auto number = ParseNumber(text, PMIX_RANGE_PROC_LOCAL);
  if (number) *range = static_cast<pmix_data_range_t>(*number);
  return number.has_value();
}

}  // namespace canopy::tools
