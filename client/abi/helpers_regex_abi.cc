// Compact texts for node lists and rank maps.
#include <cstring>
#include <string>
#include <string_view>

#include "client/abi/c_text.h"
#include "common/values/memory.h"
#include "common/values/regex.h"
#include "pmix_server.h"

namespace {

// The type that a pmix_regex2_t has if its text is in Canopy's format.
constexpr char kRegexType[] = "pmix";

pmix_status_t Give(const std::string& text, char** out) {
  *out = canopy::client::CopyToC(text);
  return *out == nullptr ? PMIX_ERR_NOMEM : PMIX_SUCCESS;
}

// Returns false if a directive is required. The caller then refuses the call,
// because the library honours no directive of these functions.
bool AllOptional(const pmix_info_t* info, size_t ninfo) {
  for (size_t i = 0; info != nullptr && i < ninfo; ++i) {
    if ((info[i].flags & PMIX_INFO_REQD) != 0) return false;
  }
  return true;
}

}  // namespace

extern "C" {

pmix_status_t PMIx_generate_regex(const char* input, char** regex) {
  if (input == nullptr || regex == nullptr) return PMIX_ERR_BAD_PARAM;
  return Give(canopy::CompressNodeList(input), regex);
}

pmix_status_t PMIx_generate_ppn(const char* input, char** ppn) {
  if (input == nullptr || ppn == nullptr) return PMIX_ERR_BAD_PARAM;
  return Give(canopy::CompressRankMap(input), ppn);
}

pmix_status_t PMIx_generate_regex2(const char* input, pmix_info_t info[],
                                   size_t ninfo, pmix_regex2_t* regex) {
  if (input == nullptr || regex == nullptr) return PMIX_ERR_BAD_PARAM;
  if (!AllOptional(info, ninfo)) return PMIX_ERR_NOT_SUPPORTED;
  const std::string text = canopy::CompressNodeList(input);
  *regex = {};
  regex->type = canopy::DuplicateString(kRegexType);
  regex->bytes = reinterpret_cast<uint8_t*>(canopy::client::CopyToC(text));
  if (regex->type == nullptr || regex->bytes == nullptr) {
    free(regex->type);
    free(regex->bytes);
    *regex = {};
    return PMIX_ERR_NOMEM;
  }
  regex->len = text.size() + 1;
  return PMIX_SUCCESS;
}

pmix_status_t PMIx_parse_regex2(const pmix_regex2_t* regex, pmix_info_t info[],
                                size_t ninfo, char** output) {
  if (regex == nullptr || regex->type == nullptr || regex->bytes == nullptr ||
      output == nullptr) {
    return PMIX_ERR_BAD_PARAM;
  }
  if (strcmp(regex->type, kRegexType) != 0 || !AllOptional(info, ninfo)) {
    return PMIX_ERR_NOT_SUPPORTED;
  }
  const char* text = reinterpret_cast<const char*>(regex->bytes);
  const auto names = canopy::ExpandNodeList({text, strnlen(text, regex->len)});
  if (!names) return PMIX_ERR_BAD_PARAM;
  return Give(canopy::JoinNames(*names), output);
}

}  // extern "C"
