#include "server/kubernetes/api/json.h"

#include <algorithm>

#include "common/text.h"

namespace canopy::kubernetes {
namespace {

// Returns the deepest nesting of brackets outside of strings. Of malformed
// text, the result is any number.
int DepthOf(std::string_view text) {
  int depth = 0;
  int deepest = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == '{' || c == '[')) {
      deepest = std::max(deepest, ++depth);
    } else if (!quoted && (c == '}' || c == ']')) {
      --depth;
    }
  }
  return deepest;
}

// Returns the beginning of the text, up to a character that `max` cuts.
std::string_view Beginning(std::string_view text, size_t max) {
  if (text.size() <= max) return text;
  while (max > 0 && (text[max] & 0xc0) == 0x80) --max;
  return text.substr(0, max);
}

}  // namespace

std::optional<Json> ParseJson(std::string_view text) {
  if (DepthOf(text) > kMaxJsonDepth) return std::nullopt;
  Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) return std::nullopt;
  return document;
}

std::string JsonText(const Json& document) {
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

const Json& At(const Json& object, std::string_view key) {
  static const Json& null = *new Json;
  const auto found = object.find(key);
  return found == object.end() ? null : *found;
}

const Json::object_t& MembersOf(const Json& object) {
  static const Json::object_t& none = *new Json::object_t;
  const auto* members = object.get_ptr<const Json::object_t*>();
  return members == nullptr ? none : *members;
}

const Json::array_t& ElementsOf(const Json& array) {
  static const Json::array_t& none = *new Json::array_t;
  const auto* elements = array.get_ptr<const Json::array_t*>();
  return elements == nullptr ? none : *elements;
}

std::string_view TextAt(const Json& object, std::string_view key) {
  const auto* text = At(object, key).get_ptr<const std::string*>();
  return text == nullptr ? std::string_view() : *text;
}

std::optional<int64_t> IntAt(const Json& object, std::string_view key) {
  const Json& value = At(object, key);
  if (const auto* above = value.get_ptr<const uint64_t*>()) {
    if (*above > INT64_MAX) return std::nullopt;
    return static_cast<int64_t>(*above);
  }
  const auto* number = value.get_ptr<const int64_t*>();
  if (number == nullptr) return std::nullopt;
  return *number;
}

bool BoolAt(const Json& object, std::string_view key, bool otherwise) {
  const auto* value = At(object, key).get_ptr<const bool*>();
  return value == nullptr ? otherwise : *value;
}

std::string ShownText(std::string_view text, size_t max) {
  return Printable(Beginning(text, max));
}

}  // namespace canopy::kubernetes
