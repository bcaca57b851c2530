// Functions of the C interface that convert a code to its text, and the macro
// of an attribute to its key and back.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "client/abi/c_text.h"
#include "client/include/pmix_tables.h"
#include "common/values/simple_text.h"
#include "pmix.h"
#include "pmix_server.h"
#include "pmix_tool.h"

namespace {

using canopy::ConstantText;
using canopy::DirectivesText;
using canopy::client::CopyToC;

constexpr std::array<std::string_view, 4> kChannelNames = {"STDIN", "STDOUT",
                                                           "STDERR", "STDDIAG"};
constexpr std::size_t kChannelSets = std::size_t{1} << kChannelNames.size();
// A text with the names of several channels, separated by blanks and
// terminated.
using ChannelText = std::array<char, 32>;

constexpr ChannelText JoinChannels(std::size_t set) {
  ChannelText text{};
  std::size_t length = 0;
  for (std::size_t bit = 0; bit < kChannelNames.size(); ++bit) {
    if ((set & (std::size_t{1} << bit)) == 0) continue;
    if (length > 0) text[length++] = ' ';
    for (char c : kChannelNames[bit]) text[length++] = c;
  }
  return text;
}

constexpr std::array<ChannelText, kChannelSets> JoinAllChannels() {
  std::array<ChannelText, kChannelSets> texts{};
  for (std::size_t set = 0; set < kChannelSets; ++set) {
    texts[set] = JoinChannels(set);
  }
  return texts;
}

constexpr std::array<ChannelText, kChannelSets> kChannelTexts =
    JoinAllChannels();

std::string RankText(pmix_rank_t rank) {
  switch (rank) {
    case PMIX_RANK_UNDEF:
      return "UNDEF";
    case PMIX_RANK_WILDCARD:
      return "WILDCARD";
    case PMIX_RANK_LOCAL_NODE:
      return "LOCAL_NODE";
    case PMIX_RANK_LOCAL_PEERS:
      return "LOCAL_PEERS";
    case PMIX_RANK_INVALID:
      return "INVALID";
    default:
      return std::to_string(rank);
  }
}

}  // namespace

extern "C" {

const char* PMIx_Error_string(pmix_status_t status) {
  return ConstantText("pmix_status_t", status, "ERROR STRING NOT FOUND");
}

pmix_status_t PMIx_Error_code(const char* errname) {
  if (errname == nullptr) return INT32_MIN;
  const std::string_view wanted = errname;
  for (const canopy::ConstantEntry& entry : canopy::Constants()) {
    if (entry.type != "pmix_status_t") continue;
    if (entry.name == wanted || entry.text == wanted) {
      return static_cast<pmix_status_t>(entry.value);
    }
  }
  return INT32_MIN;
}

const char* PMIx_Proc_state_string(pmix_proc_state_t state) {
  return ConstantText("pmix_proc_state_t", state, "UNKNOWN STATE");
}

const char* PMIx_Scope_string(pmix_scope_t scope) {
  return ConstantText("pmix_scope_t", scope, "UNKNOWN SCOPE");
}

const char* PMIx_Persistence_string(pmix_persistence_t persist) {
  return ConstantText("pmix_persistence_t", persist, "UNKNOWN PERSISTENCE");
}

const char* PMIx_Data_range_string(pmix_data_range_t range) {
  return ConstantText("pmix_data_range_t", range, "UNKNOWN");
}

char* PMIx_Info_directives_string(pmix_info_directives_t directives) {
  return CopyToC(DirectivesText(directives));
}

const char* PMIx_Data_type_string(pmix_data_type_t type) {
  return ConstantText("pmix_data_type_t", type, "UNKNOWN");
}

const char* PMIx_Alloc_directive_string(pmix_alloc_directive_t directive) {
  return ConstantText("pmix_alloc_directive_t", directive, "UNSPECIFIED");
}

const char* PMIx_Alloc_inheritance_string(
    pmix_alloc_inheritance_t inheritance) {
  return ConstantText("pmix_alloc_inheritance_t", inheritance, "UNSPECIFIED");
}

const char* PMIx_Resource_block_directive_string(
    pmix_resource_block_directive_t directive) {
  return ConstantText("pmix_resource_block_directive_t", directive,
                      "UNSPECIFIED");
}

const char* PMIx_IOF_channel_string(pmix_iof_channel_t channel) {
  const std::size_t set = channel & (kChannelSets - 1);
  return set == 0 ? "NONE" : kChannelTexts[set].data();
}

const char* PMIx_Job_state_string(pmix_job_state_t state) {
  return ConstantText("pmix_job_state_t", state, "UNKNOWN");
}

const char* PMIx_Link_state_string(pmix_link_state_t state) {
  return ConstantText("pmix_link_state_t", state, "UNKNOWN");
}

const char* PMIx_Device_type_string(pmix_device_type_t type) {
  return ConstantText("pmix_device_type_t", static_cast<std::int64_t>(type),
                      "UNKNOWN");
}

const char* PMIx_Value_comparison_string(pmix_value_cmp_t cmp) {
  return ConstantText("pmix_value_cmp_t", cmp, "UNKNOWN VALUE");
}

const char* PMIx_Group_operation_string(pmix_group_operation_t op) {
  return ConstantText("pmix_group_operation_t", op, "UNKNOWN");
}

char* PMIx_Proc_string(const pmix_proc_t* proc) {
  if (proc == nullptr) return nullptr;
  std::string text(proc->nspace, strnlen(proc->nspace, PMIX_MAX_NSLEN));
  text += ':';
  text += RankText(proc->rank);
  return CopyToC(text);
}

char* PMIx_Resource_unit_string(const pmix_resource_unit_t* unit) {
  if (unit == nullptr) return nullptr;
  std::string text = PMIx_Device_type_string(unit->type);
  text += ':';
  text += std::to_string(unit->count);
  return CopyToC(text);
}

const char* PMIx_Get_attribute_string(const char* attribute) {
  if (attribute == nullptr) return nullptr;
  const auto* entry = canopy::FindAttributeByName(attribute);
  return entry == nullptr ? attribute : entry->key.data();
}

const char* PMIx_Get_attribute_name(const char* attrstring) {
  if (attrstring == nullptr) return nullptr;
  const auto* entry = canopy::FindAttributeByKey(attrstring);
  return entry == nullptr ? attrstring : entry->name.data();
}

}  // extern "C"
