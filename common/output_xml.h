// Output of processes as XML (PMIX_IOF_XML_OUTPUT).
#ifndef CANOPY_COMMON_OUTPUT_XML_H_
#define CANOPY_COMMON_OUTPUT_XML_H_

#include <string>
#include <string_view>

#include "common/ids.h"

namespace canopy {

// Returns one line of output as an element with a line feed behind it: <CHANNEL
// nspace="NAMESPACE" rank="RANK">LINE</CHANNEL>. `channel` is "stdout",
// "stderr" or "stddiag". `time` becomes the attribute "timestamp" unless it is
// empty. The line feed at the end of `line` is left out. Bytes that are not
// printable ASCII characters become references to their numbers.
std::string OutputElement(std::string_view channel, const ProcId& source,
                          std::string_view time, std::string_view line);

}  // namespace canopy

#endif  // CANOPY_COMMON_OUTPUT_XML_H_
