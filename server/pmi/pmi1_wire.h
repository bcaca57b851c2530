// The text lines of the PMI-1 wire protocol: parses requests and formats
// replies.
#ifndef CANOPY_SERVER_PMI_PMI1_WIRE_H_
#define CANOPY_SERVER_PMI_PMI1_WIRE_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "server/pmi/request.h"

namespace canopy::pmi {

// The limit of a line in bytes. A longer line ends the connection.
inline constexpr size_t kMaxLine = 16 << 10;

// Parses `line`, without its end: "cmd=NAME key=value ...". A value ends at the
// next blank, except that the value named "value" extends to the end of the
// line. Without "cmd=" the request has no name.
Request ParseLine(std::string_view line);

// Returns the answer with its line end. The answer to init is a line for
// clients of either protocol version; `reply.value` is the version that they
// get.
std::string AnswerLine(const Request& request, const Reply& reply);

}  // namespace canopy::pmi

#endif  // CANOPY_SERVER_PMI_PMI1_WIRE_H_
