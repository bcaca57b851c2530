// Elements without structure as text, and what texts of structures are made of.
#ifndef CANOPY_COMMON_VALUES_SIMPLE_TEXT_H_
#define CANOPY_COMMON_VALUES_SIMPLE_TEXT_H_

#include <sys/time.h>

#include <string>

#include "common/values/type_table.h"

namespace canopy {

// As printf prints it.
__attribute__((format(printf, 1, 2))) std::string Format(const char* format,
                                                         ...);

inline const char* OrNull(const char* text) {
  return text == nullptr ? "NULL" : text;
}

// Seconds and microseconds: "12.000345".
std::string TimevalText(const timeval& time);

// "3", "PMIX_RANK_WILDCARD".
std::string RankText(pmix_rank_t rank);

// "namespace:3".
std::string ProcText(const pmix_proc_t& proc);

// "REQUIRED:PROCESSED", "OPTIONAL".
std::string DirectivesText(pmix_info_directives_t directives);

// The text of an element of a known type that has no structure.
std::string SimpleText(pmix_data_type_t type, const void* element);

}  // namespace canopy

#endif  // CANOPY_COMMON_VALUES_SIMPLE_TEXT_H_
