// JSON from the API server, read without exceptions: a member that is absent or
// has another type reads as its default.
#ifndef CANOPY_SERVER_KUBERNETES_API_JSON_H_
#define CANOPY_SERVER_KUBERNETES_API_JSON_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace canopy::kubernetes {

using Json = nlohmann::json;

// Values nested more deeply than this are not parsed. The API server's objects
// have about 20 levels.
inline constexpr int kMaxJsonDepth = 100;

// Parses a document. Returns no value if the text is not JSON or is nested too
// deeply.
std::optional<Json> ParseJson(std::string_view text);

// Returns the document as text. Bytes that are not UTF-8 are replaced.
std::string JsonText(const Json& document);

// Returns the member `key`, or null if `object` is no object or lacks it.
const Json& At(const Json& object, std::string_view key);

// Returns the members of an object and the elements of an array; none for
// values of other types.
const Json::object_t& MembersOf(const Json& object);
const Json::array_t& ElementsOf(const Json& array);

// Returns the text `key`, or an empty text. The view is valid as long as
// `object` is unchanged.
std::string_view TextAt(const Json& object, std::string_view key);
// Returns the integer `key`, or no value if it is absent, no integer or too
// large.
std::optional<int64_t> IntAt(const Json& object, std::string_view key);
// Returns the Boolean `key`.
bool BoolAt(const Json& object, std::string_view key, bool otherwise);

// Returns the text as one printable line of at most about `max` bytes, without
// a broken character at the end. Messages of objects may come from tenants.
std::string ShownText(std::string_view text, size_t max = 1024);

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_API_JSON_H_
