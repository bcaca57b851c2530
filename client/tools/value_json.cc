#include "client/tools/value_json.h"

#include <cstdint>
#include <cstdio>
#include <span>

#include "client/tools/calls.h"
#include "client/tools/process_state.h"
#include "pmix.h"

namespace canopy::tools {
namespace {

using cli::Json;

Json TextOrNull(const char* text) { return text == nullptr ? Json() : text; }

Json ProcJson(const pmix_proc_t& proc) {
  Json out;
  out["job"] = proc.nspace;
  if (proc.rank <= PMIX_RANK_VALID) {
    out["rank"] = proc.rank;
  } else {
    out["rank"] = nullptr;
  }
  return out;
}

Json ProcInfoJson(const pmix_proc_info_t& info) {
  Json out = ProcJson(info.proc);
  out["node"] = TextOrNull(info.hostname);
  out["pid"] = static_cast<int64_t>(info.pid);
  out["state"] = StateText(info, '\0');
  out["exit_code"] = info.exit_code;
  out["program"] = TextOrNull(info.executable_name);
  return out;
}

Json InfosJson(std::span<const pmix_info_t> infos) {
  Json out = Json::object();
  for (const pmix_info_t& info : infos) {
    out[NameOf(info.key)] = ValueJson(info.value);
  }
  return out;
}

template <typename T, typename Convert>
Json Elements(const pmix_data_array_t& array, Convert convert) {
  Json out = Json::array();
  const auto* const first = static_cast<const T*>(array.array);
  for (size_t i = 0; i < array.size; ++i) out.push_back(convert(first[i]));
  return out;
}

Json ArrayJson(const pmix_value_t& value) {
  const pmix_data_array_t* const array = value.data.darray;
  if (array == nullptr || array->array == nullptr) return Json::array();
  switch (array->type) {
    case PMIX_INFO:
      return InfosJson(
          {static_cast<const pmix_info_t*>(array->array), array->size});
    case PMIX_PROC_INFO:
      return Elements<pmix_proc_info_t>(*array, ProcInfoJson);
    case PMIX_PROC:
      return Elements<pmix_proc_t>(*array, ProcJson);
    case PMIX_STRING:
      return Elements<char*>(*array, TextOrNull);
    case PMIX_VALUE:
      return Elements<pmix_value_t>(*array, ValueJson);
    default:
      return TextOf(value);
  }
}

Json StatusJson(pmix_status_t status) {
  Json out;
  AddStatus(status, &out);
  return out;
}

}  // namespace

Json ValueJson(const pmix_value_t& value) {
  switch (value.type) {
    case PMIX_BOOL:
      return value.data.flag;
    case PMIX_STRING:
      return TextOrNull(value.data.string);
    case PMIX_SIZE:
      return value.data.size;
    case PMIX_PID:
      return static_cast<int64_t>(value.data.pid);
    case PMIX_INT:
      return value.data.integer;
    case PMIX_INT8:
      return value.data.int8;
    case PMIX_INT16:
      return value.data.int16;
    case PMIX_INT32:
      return value.data.int32;
    case PMIX_INT64:
      return value.data.int64;
    case PMIX_UINT:
      return value.data.uint;
    case PMIX_UINT8:
      return value.data.uint8;
    case PMIX_UINT16:
      return value.data.uint16;
    case PMIX_UINT32:
      return value.data.uint32;
    case PMIX_UINT64:
      return value.data.uint64;
    case PMIX_FLOAT:
      return value.data.fval;
    case PMIX_DOUBLE:
      return value.data.dval;
    case PMIX_PROC_RANK:
      return value.data.rank;
    case PMIX_STATUS:
      return StatusJson(value.data.status);
    case PMIX_PROC:
      return value.data.proc == nullptr ? Json() : ProcJson(*value.data.proc);
    case PMIX_PROC_INFO:
      return value.data.pinfo == nullptr ? Json()
                                         : ProcInfoJson(*value.data.pinfo);
    case PMIX_DATA_ARRAY:
      return ArrayJson(value);
    default:
      return TextOf(value);
  }
}

void AddStatus(pmix_status_t status, Json* to) {
  (*to)["status"] = status;
  (*to)["status_name"] = PMIx_Error_string(status);
}

int PrintDocument(const Json& document, pmix_status_t status) {
  const std::string text = cli::DocumentText(document);
  const bool written =
      fwrite(text.data(), 1, text.size(), stdout) == text.size() &&
      fflush(stdout) == 0;
  return written && status == PMIX_SUCCESS ? 0 : kExitFailure;
}

}  // namespace canopy::tools
