// Prints elements without structure, and the parts of texts of structures.
#ifndef CANOPY_COMMON_VALUES_SIMPLE_TEXT_H_
#define CANOPY_COMMON_VALUES_SIMPLE_TEXT_H_

#include <sys/time.h>

#include <string>

#include "common/values/type_table.h"

namespace canopy {

// Formats as printf does.
__attribute__((format(printf, 1, 2))) std::string Format(const char* format,
                                                         ...);

inline const char* OrNull(const char* text) {
  return text == nullptr ? "NULL" : text;
}

// Prints seconds and microseconds, such as "12.000345".
std::string TimevalText(const timeval& time);

// Prints a rank: "3" or "PMIX_RANK_WILDCARD".
std::string RankText(pmix_rank_t rank);

// Prints a process: "namespace:3".
std::string ProcText(const pmix_proc_t& proc);

// Prints directives: "REQUIRED:PROCESSED", "OPTIONAL".
std::string DirectivesText(pmix_info_directives_t directives);

// Prints an element of a known type that has no structure.
std::string SimpleText(pmix_data_type_t type, const void* element);

}  // namespace canopy

#endif  // CANOPY_COMMON_VALUES_SIMPLE_TEXT_H_
