// Paths and queries of URLs.
#ifndef CANOPY_SERVER_KUBERNETES_API_URL_H_
#define CANOPY_SERVER_KUBERNETES_API_URL_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace canopy::kubernetes {

// Returns the text for use as one segment of a path or as a value of a query.
std::string UrlEscaped(std::string_view text);

// Returns the path with a query of these names and values, without the names
// whose values are empty.
std::string WithQuery(
    const std::string& path,
    const std::vector<std::pair<std::string, std::string>>& values);

// Returns true if the text can stand in the head of a request: it begins with a
// slash and has neither spaces nor control characters nor bytes beyond ASCII.
bool IsUrlPath(std::string_view text);

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_API_URL_H_
