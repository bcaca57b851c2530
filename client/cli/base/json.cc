#include "client/cli/base/json.h"

namespace canopy::cli {
namespace {

constexpr auto kReplace = Json::error_handler_t::replace;

}  // namespace

std::string DocumentText(const Json& document) {
  return document.dump(1, ' ', /*ensure_ascii=*/false, kReplace) + "\n";
}

std::string LineText(const Json& document) {
  return document.dump(-1, ' ', /*ensure_ascii=*/false, kReplace) + "\n";
}

Json TextOrNull(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

Result<Json> ParseDocument(const std::string& text) {
  Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) {
    return Status(kErrUnpackFailure, "malformed JSON");
  }
  return document;
}

}  // namespace canopy::cli
